// rule: condition variables
// claim: a broadcast wakes many, each ordered by the mutex
// expect: nothing
#include "../order.h"

enum { kWaiters = 4 };
int ready, data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void* waiter(void* _) {
  pthread_mutex_lock(&mutex);
  while (!ready) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  await(1);
  use(data);
  return NULL;
}

int main(void) {
  pthread_t threads[kWaiters];
  for (int i = 0; i < kWaiters; i++) threads[i] = start(waiter);
  pthread_mutex_lock(&mutex);
  data = 1;
  ready = 1;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  step();
  for (int i = 0; i < kWaiters; i++) join(threads[i]);
}
