// rule: the exact filter
// claim: a thousand uncontended rounds under a lock, then another thread under the same lock
// expect: nothing
#include "../order.h"

long data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* writer(void* _) {
  for (int i = 0; i < 1000; i++) {
    pthread_mutex_lock(&mutex);
    data = i;
    pthread_mutex_unlock(&mutex);
  }
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  use(data);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) { run2(writer, reader); }
