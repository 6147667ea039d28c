// rule: allocation
// claim: a block that reuses an address has a history of its own, and races like any other
// expect: race write@a write@b
#include "../order.h"

long* block;

static void* worker(void* number) {
  for (int i = 0; i < 100; i++) {
    long* mine = malloc(48);
    for (int j = 0; j < 6; j++) mine[j] = j;
    free(mine);
  }
  if (number == NULL) {
    block = malloc(48);
    block[1] = 1;  // @a
    step();
  } else {
    await(1);
    long* theirs;
    __asm__ volatile("movq %1, %0" : "=r"(theirs) : "m"(block));
    theirs[1] = 2;  // @b
  }
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, worker, NULL);
  pthread_create(&b, NULL, worker, (void*)1);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
}
