// rule: allocation
// claim: two threads race in memory they got from mmap
// flags: -D_GNU_SOURCE
// expect: race write@a write@b
#include <sys/mman.h>

#include "../order.h"

long* page;

static void* first(void* _) {
  page[100] = 1;  // @a
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  page[100] = 2;  // @b
  return NULL;
}

int main(void) {
  page = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  run2(first, second);
}
