// rule: allocation
// claim: freeing a block races with an unordered write to it
// expect: race write@a free@b
#include "../order.h"

int* block;

static void* writer(void* _) {
  block[3] = 1;  // @a
  step();
  return NULL;
}

int main(void) {
  block = malloc(64);
  pthread_t t = start(writer);
  await(1);
  free(block);  // @b
  join(t);
}
