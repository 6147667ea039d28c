// rule: bytes
// claim: neighbouring bit-fields of one unit race: they are one memory location
// expect: race any@a any@b
#include "../order.h"

struct {
  unsigned a : 3;
  unsigned b : 5;
} bits;

static void* first(void* _) {
  bits.a = 1;  // @a
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  bits.b = 2;  // @b
  return NULL;
}

int main(void) { run2(first, second); }
