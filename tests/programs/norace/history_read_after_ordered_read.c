// rule: nothing is evicted
// claim: reads that are all ordered before the write do not race
// expect: nothing
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* reader(void* _) {
  use(data);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  step();
  await(2);
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  step();
  await(3);
  data = 1;
  return NULL;
}

int main(void) { run2(reader, writer); }
