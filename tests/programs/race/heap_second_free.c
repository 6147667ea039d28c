// rule: allocation
// claim: two threads that free one block, unordered, race with each other
// expect: race free@a free@b
#include "../order.h"

int* block;

static void* first(void* _) {
  free(block);  // @a
  step();
  await(3);
  return NULL;
}

static void* second(void* _) {
  await(1);
  free(block);  // @b
  step();
  await(3);
  return NULL;
}

// Both threads are still there when the process ends: what the allocator makes of the second free is not the point.
int main(void) {
  block = (int*)malloc(40);
  *block = 1;
  start(first);
  start(second);
  await(2);
}
