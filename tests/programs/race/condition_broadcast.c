// rule: condition variables
// claim: what is written after the unlock of the broadcaster races with the woken threads
// expect: race write@a read@b
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
  use(data);  // @b
  return NULL;
}

int main(void) {
  pthread_t threads[kWaiters];
  for (int i = 0; i < kWaiters; i++) threads[i] = start(waiter);
  pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  data = 1;  // @a
  step();
  for (int i = 0; i < kWaiters; i++) join(threads[i]);
}
