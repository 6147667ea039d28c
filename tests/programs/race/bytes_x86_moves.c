// rule: bytes
// claim: moves that only x86 has, masked by bytes, unaligned or of a processor's whole state, race with a byte of theirs
// expect: race read@a write@b
// expect: race write@c read@d
// expect: race read@e write@f
// flags: -msse3
#include <immintrin.h>

#include "../order.h"

char moved[16];
char loaded[32];
_Alignas(16) char state[512];
enum { kByteLoaded = 16, kByteOfState = 24 };
// Not constant, so that the compiler makes nothing simpler of it.
char lanes[16] = {0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1};

static void* first(void* _) {
  use(moved[3]);             // @a
  loaded[kByteLoaded] = 1;   // @c
  use(state[kByteOfState]);  // @e
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  __m128i mask = _mm_loadu_si128((__m128i*)lanes);
  _mm_maskmoveu_si128(mask, mask, moved);                         // @b
  __m128i value = _mm_lddqu_si128((__m128i const*)(loaded + 1));  // @d
  use(_mm_cvtsi128_si32(value));
  _fxsave64(state);  // @f
  return NULL;
}

int main(void) { run2(first, second); }
