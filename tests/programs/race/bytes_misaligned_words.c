// rule: bytes
// claim: words at odd addresses race
// expect: race write@odd read@other
#include "../order.h"

_Alignas(64) static unsigned char buffer[4096];

// Not known to be odd where the access is compiled.
__attribute__((noinline)) static void put(uint64_t* word, uint64_t value) {
  *word = value;  // @odd
}
__attribute__((noinline)) static uint64_t get(const uint64_t* word) { return *word; }

static void* first(void* _) {
  for (int i = 1; i <= 2001; i += 8) {
    uint64_t* const word = (uint64_t*)(buffer + i);
    put(word, (uint64_t)i);
    if (get(word) != (uint64_t)i) abort();
  }
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  use(buffer[2003]);  // @other
  return NULL;
}

int main(void) { run2(first, second); }
