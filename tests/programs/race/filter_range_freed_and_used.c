// rule: the exact filter
// claim: a thread that has freed a block and still walks over it races with the block's next owner
// expect: race write@b read@a
#include <malloc.h>

#include "../order.h"

enum { kCount = 600 };  // more than the allocator keeps for each thread

__attribute__((noinline)) static long sum(const long* block) {
  long result = 0;
  for (int i = 0; i < kCount; i++) result += block[i];  // @a
  return result;
}

static void* first(void* _) {
  await(1);
  long* const block = calloc(kCount, sizeof *block);
  long* after;
  __asm__("" : "=r"(after) : "0"(block));
  use(sum(block));
  free(block);
  step();
  await(3);
  use(sum(after));
  return NULL;
}

static void* next(void* _) {
  step();
  await(2);
  long* const block = malloc(kCount * sizeof *block);
  block[77] = 0;  // @b
  use((long)block);
  step();
  return NULL;
}

int main(void) {
  mallopt(M_ARENA_MAX, 1);
  run2(first, next);
}
