// rule: bytes
// claim: the byte after an unaligned vector load does not race with it
// expect: nothing
#include <emmintrin.h>

#include "../order.h"

_Alignas(16) char bytes[40];

static void* writer(void* _) {
  bytes[21] = 1;
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  __m128i loaded = _mm_loadu_si128((const __m128i*)(bytes + 5));
  __asm__ volatile("" : : "x"(loaded));
  return NULL;
}

int main(void) { run2(writer, reader); }
