// rule: loops
// claim: a loop with an early exit races on the last element it reached
// expect: race read@a write@b
#include "../order.h"

int array[100];

static void* searcher(void* _) {
  int i = 0;
  while (i < 100 && array[i] != 7) i++;  // @a
  use(i);
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  array[20] = 1;  // @b
  return NULL;
}

int main(void) {
  array[20] = 7;
  run2(searcher, writer);
}
