// rule: bytes
// claim: a 16-byte vector store races with its last byte
// expect: race write@a read@b
#include <emmintrin.h>

#include "../order.h"

struct {
  _Alignas(16) char before[16];
  __m128i vector;
  char after[16];
} data;

static void* writer(void* _) {
  _mm_store_si128(&data.vector, _mm_set1_epi8(3));  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(((char*)&data.vector)[15]);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
