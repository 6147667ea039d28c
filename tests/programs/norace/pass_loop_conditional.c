// rule: loops
// claim: accesses in a loop that did not happen do not race
// expect: nothing
#include "../order.h"

int array[256];
char wanted[256];

static void* walker(void* _) {
  for (int i = 0; i < 256; i++) {
    if (wanted[i]) array[i] = i;
  }
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(array[100]);
  return NULL;
}

int main(void) {
  wanted[99] = wanted[101] = 1;
  run2(walker, reader);
}
