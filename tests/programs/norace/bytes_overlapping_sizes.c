// rule: bytes
// claim: a 4-byte write does not race with the byte after it
// expect: nothing
#include "../order.h"

_Alignas(8) union {
  uint32_t word;
  unsigned char bytes[8];
} u;

static void* writer(void* _) {
  u.word = 1;
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(u.bytes[4]);
  return NULL;
}

int main(void) { run2(writer, reader); }
