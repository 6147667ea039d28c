// rule: allocation
// claim: munmap of what cannot be mapped fails at once, and changes nothing
// expect: nothing
#include <stdint.h>
#include <sys/mman.h>

#include "../order.h"

static void* other(void* _) {
  await(1);
  return NULL;
}

int main(void) {
  pthread_t t = start(other);
  char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  page[0] = 1;
  if (munmap(NULL, SIZE_MAX) == 0 || munmap(page, (size_t)1 << 60) == 0 || munmap(page, 0) == 0) abort();
  if (page[0] != 1) abort();
  munmap(page, 4096);
  step();
  join(t);
}
