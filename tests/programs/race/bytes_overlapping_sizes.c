// rule: bytes
// claim: a 4-byte write races with a read of its third byte
// expect: race write@a read@b
#include "../order.h"

_Alignas(8) union {
  uint32_t word;
  unsigned char bytes[8];
} u;

static void* writer(void* _) {
  u.word = 1;  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(u.bytes[2]);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
