// rule: bytes
// claim: an unaligned access that crosses into the next word races with a byte there
// expect: race write@a read@b
#include "../order.h"

struct __attribute__((packed, aligned(8))) Packed {
  char head[6];
  uint32_t straddling;
  char tail[6];
} packed;

static void* writer(void* _) {
  packed.straddling = 7;  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(((char*)&packed)[9]);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
