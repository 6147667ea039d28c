// rule: loops
// claim: of an array walked in one loop, one element races
// expect: race write@a write@b
#include "../order.h"

enum { kSize = 1000 };
long array[kSize];
int half = kSize / 2;

static void* walker(void* _) {
  for (int i = 0; i <= half; i++) array[i] = i;  // @a
  step();
  return NULL;
}

static void* other(void* _) {
  await(1);
  for (int i = half; i < kSize; i++) array[i] = -i;  // @b
  return NULL;
}

int main(void) { run2(walker, other); }
