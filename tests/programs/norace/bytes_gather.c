// rule: bytes
// claim: elements that no index names, and lanes that the mask leaves out, are not touched
// expect: nothing
// flags: -mavx2
#include <immintrin.h>

#include "../order.h"

int gathered[64];
int loaded[8];
int stored[8];
// Not constant, so that the compiler makes nothing simpler of them.
int indices[8] = {1, 2, 4, 8, 16, 32, 10, 63};
int lanes[8] = {-1, 1, -1, 1, -1, 1, -1, -1};

static void* writer(void* _) {
  gathered[9] = 1;
  loaded[3] = 1;
  use(stored[5]);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  __m256i index = _mm256_loadu_si256((__m256i*)indices);
  __m256i mask = _mm256_loadu_si256((__m256i*)lanes);
  __m256i first = _mm256_i32gather_epi32(gathered, index, 4);
  use(_mm256_extract_epi32(first, 0));
  __m256i second = _mm256_maskload_epi32(loaded, mask);
  use(_mm256_extract_epi32(second, 0));
  _mm256_maskstore_epi32(stored, mask, index);
  return NULL;
}

int main(void) { run2(writer, reader); }
