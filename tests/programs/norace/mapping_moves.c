// rule: allocation
// claim: addresses that mremap gives up may be another thread's at once
// expect: nothing
// flags: -D_GNU_SOURCE
#include <sys/mman.h>

#include "../order.h"

enum { kRounds = 300, kPages = 4, kPage = 4096 };

static void* moves(void* _) {
  for (int i = 0; i < kRounds; ++i) {
    char* p = mmap(NULL, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) abort();
    for (int j = 0; j < kPages * kPage; j += 512) p[j] = (char)i;
    p = mremap(p, kPages * kPage, 4 * kPages * kPage, MREMAP_MAYMOVE);
    if (p == MAP_FAILED) abort();
    for (int j = 0; j < 4 * kPages * kPage; j += 512) p[j] = (char)i;
    p = mremap(p, 4 * kPages * kPage, kPage, MREMAP_MAYMOVE);
    if (p == MAP_FAILED) abort();
    munmap(p, kPage);
  }
  return NULL;
}

int main(void) { run2(moves, moves); }
