// rule: the exact filter
// claim: a mapping that is made anew may be filled by one thread after the other
// expect: nothing
#include <sys/mman.h>

#include "../order.h"

enum { kCount = 2048 };
long* shared;

__attribute__((noinline)) static void fill(long* block) {
  for (int i = 0; i < kCount; i++) block[i] = i;
}

static long* map(void* at) {
  void* const mapping = mmap(at, kCount * sizeof(long), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | (at != NULL ? MAP_FIXED : 0), -1, 0);
  if (mapping == MAP_FAILED) abort();
  return mapping;
}

static void* worker(void* _) {
  for (int i = 0; i < 10; i++) {
    fill(shared);
    fill(shared);
    munmap(shared, kCount * sizeof *shared);
    shared = map(shared);
    fill(shared);
  }
  return NULL;
}

int main(void) {
  shared = map(NULL);
  join(start(worker));
  join(start(worker));
}
