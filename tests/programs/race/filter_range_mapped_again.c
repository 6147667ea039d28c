// rule: the exact filter
// claim: a range of a new mapping is looked at again, though there was one at the same address
// expect: race write@a write@b
#include <sys/mman.h>

#include "../order.h"

enum { kCount = 2048 };
long* shared;

__attribute__((noinline)) static void fill(long* block) {
  for (int i = 0; i < kCount; i++) block[i] = i;  // @a
}

static long* map(void* at) {
  void* const mapping = mmap(at, kCount * sizeof(long), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | (at != NULL ? MAP_FIXED : 0), -1, 0);
  if (mapping == MAP_FAILED) abort();
  return mapping;
}

static void* owner(void* _) {
  long* const block = map(NULL);
  fill(block);
  munmap(block, kCount * sizeof *block);
  fill(map(block));
  __asm__ volatile("movq %1, %0" : "=m"(shared) : "r"(block));
  step();
  return NULL;
}

static void* other(void* _) {
  await(1);
  long* theirs;
  __asm__ volatile("movq %1, %0" : "=r"(theirs) : "m"(shared));
  theirs[1077] = 0;  // @b
  return NULL;
}

int main(void) { run2(owner, other); }
