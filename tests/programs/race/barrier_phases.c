// rule: barriers
// claim: writes of one phase race with reads of the same phase
// expect: race write@a read@b
#include "../order.h"

int cell[2];
pthread_barrier_t barrier;

static void* first(void* _) {
  cell[0] = 1;  // @a
  step();
  pthread_barrier_wait(&barrier);
  use(cell[1]);
  return NULL;
}

static void* second(void* _) {
  cell[1] = 1;
  await(1);
  use(cell[0]);  // @b
  pthread_barrier_wait(&barrier);
  return NULL;
}

int main(void) {
  pthread_barrier_init(&barrier, NULL, 2);
  run2(first, second);
  pthread_barrier_destroy(&barrier);
}
