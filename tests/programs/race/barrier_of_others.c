// rule: barriers
// claim: a barrier orders only its participants
// expect: race write@a read@b
#include "../order.h"

int data;
pthread_barrier_t barrier;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* first(void* _) {
  data = 1;  // @a
  pthread_barrier_wait(&barrier);
  return NULL;
}

static void* second(void* _) {
  pthread_barrier_wait(&barrier);
  step();
  return NULL;
}

static void* bystander(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  use(data);  // @b
  return NULL;
}

int main(void) {
  pthread_barrier_init(&barrier, NULL, 2);
  run3(first, second, bystander);
}
