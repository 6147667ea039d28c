// rule: the exact filter
// claim: a range of a new block is looked at again, though its addresses were walked over before
// expect: race write@a write@b
#include "../order.h"

enum { kCount = 128 };  // as a whole 1 KiB, which the allocator gives out again at once
long* shared;

__attribute__((noinline)) static void fill(long* block) {
  for (int i = 0; i < kCount; i++) block[i] = i;  // @a
}

static void* owner(void* _) {
  long* const before = malloc(kCount * sizeof *before);
  fill(before);
  free(before);
  long* const block = malloc(kCount * sizeof *block);
  fill(block);
  __asm__ volatile("movq %1, %0" : "=m"(shared) : "r"(block));
  step();
  return NULL;
}

static void* other(void* _) {
  await(1);
  long* theirs;
  __asm__ volatile("movq %1, %0" : "=r"(theirs) : "m"(shared));
  theirs[77] = 0;  // @b
  return NULL;
}

int main(void) { run2(owner, other); }
