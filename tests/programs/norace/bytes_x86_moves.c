// rule: bytes
// claim: what the mask leaves out, what lies behind, and what a saved state leaves to the program, is not touched
// expect: nothing
// flags: -msse3
#include <immintrin.h>

#include "../order.h"

char moved[16];
char loaded[32];
_Alignas(16) char state[512];
enum { kByteLoaded = 17, kByteOfState = 464 };
// Not constant, so that the compiler makes nothing simpler of it.
char lanes[16] = {-1, -1, -1, 1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1};

static void* first(void* _) {
  use(moved[3]);
  loaded[kByteLoaded] = 1;
  use(state[kByteOfState]);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  __m128i mask = _mm_loadu_si128((__m128i*)lanes);
  _mm_maskmoveu_si128(mask, mask, moved);
  __m128i value = _mm_lddqu_si128((__m128i const*)(loaded + 1));
  use(_mm_cvtsi128_si32(value));
  _fxsave64(state);
  return NULL;
}

int main(void) { run2(first, second); }
