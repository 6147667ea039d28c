// rule: loops
// claim: of conditional accesses in a loop, the ones that happened race
// expect: race write@a read@b
#include "../order.h"

int array[256];
char wanted[256];

static void* walker(void* _) {
  for (int i = 0; i < 256; i++) {
    if (wanted[i]) array[i] = i;  // @a
  }
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(array[100]);  // @b
  return NULL;
}

int main(void) {
  wanted[100] = 1;
  run2(walker, reader);
}
