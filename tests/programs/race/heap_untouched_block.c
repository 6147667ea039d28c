// rule: allocation
// claim: a block that nobody touched before it was freed is freed byte by byte: a write into its middle races
// expect: race free@a write@b
#include "../order.h"

volatile char* block;

static void* owner(void* _) {
  free((void*)block);  // @a
  step();
  return NULL;
}

int main(void) {
  block = malloc(6000);
  pthread_t t = start(owner);
  await(1);
  block[3000] = 1;  // @b
  join(t);
}
