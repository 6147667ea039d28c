// rule: allocation
// claim: a mapping that reuses the address of an unmapped one has no history
// expect: nothing
// flags: -D_GNU_SOURCE
#include <sys/mman.h>

#include "../order.h"

static long* map(void) {
  return mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void* first(void* _) {
  long* page = map();
  for (int i = 0; i < 100; i++) page[i] = 1;
  munmap(page, 1 << 16);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  long* page = map();
  for (int i = 0; i < 100; i++) page[i] = 2;
  munmap(page, 1 << 16);
  return NULL;
}

int main(void) {
  run2(first, second);
}
