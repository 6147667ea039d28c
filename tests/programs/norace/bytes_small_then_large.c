// rule: bytes
// claim: an 8-byte read does not race with the byte before it
// expect: nothing
#include "../order.h"

_Alignas(16) unsigned char bytes[24];

static void* writer(void* _) {
  bytes[7] = 1;
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use((long)*(uint64_t*)(bytes + 8));
  return NULL;
}

int main(void) { run2(writer, reader); }
