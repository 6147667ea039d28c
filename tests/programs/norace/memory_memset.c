// rule: memory functions
// claim: two threads may memset two halves of an array
// expect: nothing
#include <string.h>

#include "../order.h"

char array[1000];
size_t half = 500;

static void* first(void* _) {
  memset(array, 1, half);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  memset(array + half, 2, half);
  return NULL;
}

int main(void) { run2(first, second); }
