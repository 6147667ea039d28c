// rule: bytes
// claim: a byte written first races with an unaligned 8-byte read that starts in the word before
// expect: race write@a read@b
#include "../order.h"

struct __attribute__((packed, aligned(8))) Packed {
  char head[3];
  uint64_t straddling;
  char tail[5];
} packed;

static void* writer(void* _) {
  ((char*)&packed)[10] = 1;  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use((long)packed.straddling);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
