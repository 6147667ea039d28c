// rule: loops
// claim: a loop with an early exit does not touch what lies beyond it
// expect: nothing
#include "../order.h"

int array[100];

static void* searcher(void* _) {
  int i = 0;
  while (i < 100 && array[i] != 7) i++;
  use(i);
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  array[21] = 1;
  return NULL;
}

int main(void) {
  array[20] = 7;
  run2(searcher, writer);
}
