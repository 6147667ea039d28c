// rule: the exact filter
// claim: a narrower one touches only its own bytes
// expect: nothing
#include "../order.h"

_Alignas(8) union {
  uint64_t wide;
  uint8_t bytes[8];
} u;

static void* first(void* _) {
  u.bytes[0] = 1;
  u.bytes[0] = 2;
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  use(u.bytes[7]);
  return NULL;
}

int main(void) { run2(first, second); }
