// rule: allocation
// claim: who asks how much of a block it may use, may use it: what had been done to that memory before is past
// expect: nothing
#include <malloc.h>

#include "../order.h"

static char* earlier;

static void* gives_back(void* _) {
  earlier[1999] = 1;
  free(earlier);
  step();
  return NULL;
}

static void* takes(void* _) {
  await(1);
  // The same chunk, and with less asked for than it has.
  char* volatile const block = malloc(1985);
  size_t const usable = malloc_usable_size(block);
  for (size_t i = 0; i < usable; ++i) block[i] = 2;
  free(block);
  return NULL;
}

int main(void) {
  mallopt(M_ARENA_MAX, 1);
  earlier = malloc(2000);
  void* volatile const behind = malloc(2000);  // so that the first one is not made part of what is left
  run2(gives_back, takes);
  free(behind);
}
