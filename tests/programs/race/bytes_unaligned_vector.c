// rule: bytes
// claim: an unaligned 16-byte vector load touches three words: a write of its last byte races
// expect: race write@a read@b
#include <emmintrin.h>

#include "../order.h"

_Alignas(16) char bytes[40];

static void* writer(void* _) {
  bytes[20] = 1;  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  __m128i loaded = _mm_loadu_si128((const __m128i*)(bytes + 5));  // @b
  __asm__ volatile("" : : "x"(loaded));
  return NULL;
}

int main(void) { run2(writer, reader); }
