// rule: allocation
// claim: moving a mapping ends what was at its addresses: a use that nothing orders before is a race
// expect: race write@use free@moved
// flags: -D_GNU_SOURCE
#include <sys/mman.h>

#include "../order.h"

enum { kPage = 4096 };
char* shared;
void* wall;

static void* uses(void* _) {
  shared[100] = 1;  // @use
  step();
  return NULL;
}

static void* moves(void* _) {
  await(1);
  if (mremap(shared, kPage, 2 * kPage, MREMAP_MAYMOVE) == MAP_FAILED) abort();  // @moved
  return NULL;
}

int main(void) {
  char* both = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (both == MAP_FAILED) abort();
  wall = mmap(both + kPage, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  shared = both;
  run2(uses, moves);
}
