// rule: allocation
// claim: reading before the other thread is told to free does not
// expect: nothing
#include <semaphore.h>

#include "../order.h"

int* block;
sem_t may_free;

static void* owner(void* _) {
  sem_wait(&may_free);
  free(block);
  step();
  return NULL;
}

int main(void) {
  sem_init(&may_free, 0, 0);
  block = calloc(16, sizeof *block);
  pthread_t t = start(owner);
  use(((volatile int*)block)[9]);
  sem_post(&may_free);
  join(t);
}
