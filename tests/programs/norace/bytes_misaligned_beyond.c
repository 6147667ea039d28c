// rule: bytes
// claim: words at addresses that their type forbids do not race with the byte behind them
// expect: nothing
#include "../order.h"

typedef struct {
  uint64_t word[2];
} Two;

// By size: one that is read beyond the end of its first word, and one that is written.
_Alignas(64) static unsigned char two[2][64], four[2][64], eight[2][64], sixteen[2][64];

// Not known to be odd where the accesses are compiled.
#define ODD __attribute__((noinline)) static
ODD uint16_t get_two(const uint16_t* at) { return *at; }
ODD uint32_t get_four(const uint32_t* at) { return *at; }
ODD uint64_t get_eight(const uint64_t* at) { return *at; }
ODD uint64_t get_sixteen(const Two* at) { return at->word[0] + at->word[1]; }
ODD void put_two(uint16_t* at, uint16_t value) { *at = value; }
ODD void put_four(uint32_t* at, uint32_t value) { *at = value; }
ODD void put_eight(uint64_t* at, uint64_t value) { *at = value; }
ODD void put_sixteen(Two* at, uint64_t value) {
  at->word[0] = value;
  at->word[1] = value;
}

static void* bytes(void* _) {
  for (int i = 0; i < 2; i++) {
    two[i][9] = 1;
    four[i][i == 0 ? 9 : 10] = 1;
    eight[i][i == 0 ? 9 : 12] = 1;
    sixteen[i][i == 0 ? 17 : 19] = 1;
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
