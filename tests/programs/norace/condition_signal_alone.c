// rule: condition variables
// claim: state changed under the mutex and awaited with a condition is ordered
// expect: nothing
#include "../order.h"

int data;
int ready;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void* waiter(void* _) {
  pthread_mutex_lock(&mutex);
  step();
  while (!ready) pthread_cond_wait(&condition, &mutex);
  use(data);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void* signaller(void* _) {
  await(1);
  doze(50000);
  pthread_mutex_lock(&mutex);
  data = 1;
  ready = 1;
  pthread_mutex_unlock(&mutex);
  pthread_cond_signal(&condition);
  return NULL;
}

int main(void) { run2(waiter, signaller); }
