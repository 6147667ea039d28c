// rule: bytes
// claim: a zero-width bit-field separates them
// expect: nothing
#include "../order.h"

struct {
  unsigned a : 3;
  unsigned : 0;
  unsigned b : 5;
} bits;

static void* first(void* _) {
  bits.a = 1;
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  bits.b = 2;
  return NULL;
}

int main(void) { run2(first, second); }
