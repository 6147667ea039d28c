// rule: memory functions
// claim: memset writes every byte: reading the last one races
// expect: race write@a write@b
#include <string.h>

#include "../order.h"

char array[1000];
size_t half = 500;

static void* first(void* _) {
  memset(array, 1, half + 1);  // @a
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  memset(array + half, 2, half);  // @b
  return NULL;
}

int main(void) { run2(first, second); }
