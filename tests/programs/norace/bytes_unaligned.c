// rule: bytes
// claim: an unaligned access does not race with the byte behind its end
// expect: nothing
#include "../order.h"

struct __attribute__((packed, aligned(8))) Packed {
  char head[6];
  uint32_t straddling;
  char tail[6];
} packed;

static void* writer(void* _) {
  packed.straddling = 7;
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(packed.tail[0]);
  return NULL;
}

int main(void) { run2(writer, reader); }
