// rule: bytes
// claim: an 8-byte read races with an earlier write of its last byte
// expect: race write@a read@b
#include "../order.h"

_Alignas(16) unsigned char bytes[24];

static void* writer(void* _) {
  bytes[15] = 1;  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use((long)*(uint64_t*)(bytes + 8));  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
