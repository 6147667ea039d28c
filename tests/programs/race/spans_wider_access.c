// rule: the exact filter
// claim: a wider access is not covered by a narrower one at the same address
// expect: race write@a read@b
#include "../order.h"

_Alignas(8) union {
  uint64_t wide;
  uint8_t bytes[8];
} u;

static void* first(void* _) {
  u.bytes[0] = 1;
  u.wide = 2;  // @a
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  use(u.bytes[7]);  // @b
  return NULL;
}

int main(void) { run2(first, second); }
