// rule: allocation
// claim: reading a block after another thread freed it, unordered, races with the free
// expect: race free@a read@b
#include <semaphore.h>

#include "../order.h"

int* block;
sem_t may_free;

static void* owner(void* _) {
  free(block);  // @a
  step();
  return NULL;
}

int main(void) {
  sem_init(&may_free, 0, 0);
  block = calloc(16, sizeof *block);
  pthread_t t = start(owner);
  await(1);
  use(((volatile int*)block)[9]);  // @b
  sem_post(&may_free);
  join(t);
}
