// rule: code shapes
// claim: elements that a vector reads under a mask race with their writers
// flags: -mavx2
// expect: race write@a write@b
#include "../order.h"

int elements[16], others[64];

__attribute__((noinline)) static void add_to_even(const int* chosen) {
  for (int i = 0; i < 16; i++)
    if (!(i & 1)) elements[i] += i;  // @a
  for (int i = 0; i < 64; i++)
    if (chosen[i]) others[i] += i;
}

static void* evens(void* _) {
  int chosen[64] = {0};
  chosen[3] = 1;
  add_to_even(chosen);
  step();
  return NULL;
}

static void* odds(void* _) {
  await(1);
  *(volatile int*)&elements[6] = 1;  // @b
  for (int i = 1; i < 16; i += 2) *(volatile int*)&elements[i] = i;
  for (int i = 8; i < 64; i++) *(volatile int*)&others[i] = i;
  return NULL;
}

int main(void) { run2(evens, odds); }
