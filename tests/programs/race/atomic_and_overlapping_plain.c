// rule: bytes
// claim: an 8-byte atomic races with a plain access of one of its bytes
// expect: race atomic-write@a read@b
#include "../order.h"

struct {
  _Alignas(8) uint32_t word;
  unsigned char after;
} both;

static void* writer(void* _) {
  __atomic_fetch_add(&both.word, 1, __ATOMIC_RELAXED);  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(((unsigned char*)&both.word)[3]);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
