// rule: allocation
// claim: freeing a block after the join does not race
// expect: nothing
#include "../order.h"

int* block;

static void* writer(void* _) {
  block[3] = 1;
  step();
  return NULL;
}

int main(void) {
  block = malloc(64);
  pthread_t t = start(writer);
  await(1);
  join(t);
  free(block);
}
