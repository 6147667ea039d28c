// rule: bytes
// claim: an unaligned 8-byte read does not race with the byte before its start
// expect: nothing
#include "../order.h"

struct __attribute__((packed, aligned(8))) Packed {
  char head[3];
  uint64_t straddling;
  char tail[5];
} packed;

static void* writer(void* _) {
  packed.head[2] = 1;
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use((long)packed.straddling);
  return NULL;
}

int main(void) { run2(writer, reader); }
