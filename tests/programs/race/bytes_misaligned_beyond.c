// rule: bytes
// claim: words at addresses that their type forbids race in the second of their granules, too, even if all of the first has just been touched
// expect: race read@read2 write@byte2
// expect: race read@read4 write@byte4
// expect: race read@read8 write@byte8
// expect: race read@read16 write@byte16
// expect: race write@write2 write@byte2
// expect: race write@write4 write@byte4
// expect: race write@write8 write@byte8
// expect: race write@write16 write@byte16
#include "../order.h"

typedef struct {
  uint64_t word[2];
} Two;

// By size: one that is read beyond the end of its first word, and one that is written.
_Alignas(64) static unsigned char two[2][64], four[2][64], eight[2][64], sixteen[2][64];

// Not known to be odd where the accesses are compiled.
#define ODD __attribute__((noinline)) static
ODD uint16_t get_two(const uint16_t* at) { return *at; }  // @read2
ODD uint32_t get_four(const uint32_t* at) { return *at; }  // @read4
ODD uint64_t get_eight(const uint64_t* at) { return *at; }  // @read8
ODD uint64_t get_sixteen(const Two* at) { return at->word[0] + at->word[1]; }  // @read16
ODD void put_two(uint16_t* at, uint16_t value) { *at = value; }  // @write2
ODD void put_four(uint32_t* at, uint32_t value) { *at = value; }  // @write4
ODD void put_eight(uint64_t* at, uint64_t value) { *at = value; }  // @write8
ODD void put_sixteen(Two* at, uint64_t value) {
  at->word[0] = value;  // @write16
  at->word[1] = value;  // @write16
}

static void* bytes(void* _) {
  for (int i = 0; i < 2; i++) {
    two[i][8] = 1;  // @byte2
    four[i][8] = 1;  // @byte4
    eight[i][8] = 1;  // @byte8
    sixteen[i][16] = 1;  // @byte16
  }
  step();
  return NULL;
}

static void touch(unsigned char* of, int words) {
  for (int i = 0; i < words; i++) ((volatile uint64_t*)of)[i] = 1;
}

static void* words(void* _) {
  await(1);
  for (int i = 0; i < 2; i++) {
    touch(two[i], 1);
    touch(four[i], 1);
    touch(eight[i], 1);
    touch(sixteen[i], 2);
  }
  use(get_two((uint16_t*)(two[0] + 7)));
  use((int)get_four((uint32_t*)(four[0] + 5)));
  use((int)get_eight((uint64_t*)(eight[0] + 1)));
  use((int)get_sixteen((Two*)(sixteen[0] + 1)));
  put_two((uint16_t*)(two[1] + 7), 2);
  put_four((uint32_t*)(four[1] + 6), 2);
  put_eight((uint64_t*)(eight[1] + 4), 2);
  put_sixteen((Two*)(sixteen[1] + 3), 2);
  return NULL;
}

int main(void) { run2(bytes, words); }
