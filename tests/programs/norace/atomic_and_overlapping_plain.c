// rule: bytes
// claim: an atomic does not race with the byte after it
// expect: nothing
#include "../order.h"

struct {
  _Alignas(8) uint32_t word;
  unsigned char after;
} both;

static void* writer(void* _) {
  __atomic_fetch_add(&both.word, 1, __ATOMIC_RELAXED);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(both.after);
  return NULL;
}

int main(void) { run2(writer, reader); }
