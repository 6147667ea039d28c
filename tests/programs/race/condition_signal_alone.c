// rule: condition variables
// claim: a signal without the mutex orders nothing: a wait may return on its own
// expect: race write@a read@b
#include "../order.h"

int data;
int ready;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void* waiter(void* _) {
  pthread_mutex_lock(&mutex);
  step();
  pthread_cond_wait(&condition, &mutex);
  use(data);  // @b
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void* signaller(void* _) {
  await(1);
  doze(50000);
  data = 1;  // @a
  pthread_cond_signal(&condition);
  return NULL;
}

int main(void) { run2(waiter, signaller); }
