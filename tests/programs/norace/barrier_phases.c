// rule: barriers
// claim: a barrier orders one phase before the next, for all participants
// expect: nothing
#include "../order.h"

int cell[2];
pthread_barrier_t barrier;

static void* first(void* _) {
  cell[0] = 1;
  step();
  pthread_barrier_wait(&barrier);
  use(cell[1]);
  return NULL;
}

static void* second(void* _) {
  cell[1] = 1;
  await(1);
  pthread_barrier_wait(&barrier);
  use(cell[0]);
  return NULL;
}

int main(void) {
  pthread_barrier_init(&barrier, NULL, 2);
  run2(first, second);
  pthread_barrier_destroy(&barrier);
}
