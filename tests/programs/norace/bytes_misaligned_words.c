// rule: bytes
// claim: words at odd addresses, which the language forbids and the processor does not, work as they do without Deadheat
// expect: nothing
#include "../order.h"

_Alignas(64) static unsigned char buffer[4096];

// Not known to be odd where the access is compiled.
__attribute__((noinline)) static void put(uint64_t* word, uint64_t value) { *word = value; }
__attribute__((noinline)) static uint64_t get(const uint64_t* word) { return *word; }
__attribute__((noinline)) static void swap(uint64_t* pair) {
  uint64_t const first = pair[0];
  pair[0] = pair[1];
  pair[1] = first;
}

static void* first(void* _) {
  for (int i = 0; i < 2000; i++) {
    uint64_t* const word = (uint64_t*)(buffer + i);
    put(word, (uint64_t)i);
    if (get(word) != (uint64_t)i) abort();
    swap(word);
    swap(word);
  }
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  return NULL;
}

int main(void) { run2(first, second); }
