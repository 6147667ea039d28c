// rule: bytes
// claim: one access that covers what was written at two places races with both
// expect: race write@a write@c
// expect: race write@b write@c
#include "../order.h"

_Alignas(8) volatile unsigned char bytes[8];

static void* parts(void* _) {
  bytes[1] = 1;  // @a
  bytes[6] = 1;  // @b
  step();
  return NULL;
}

static void* whole(void* _) {
  await(1);
  *(volatile uint64_t*)bytes = 0;  // @c
  return NULL;
}

int main(void) { run2(parts, whole); }
