// rule: nothing is evicted
// claim: a thread's second, unordered read counts, though its first one was ordered before the write
// expect: race read@b write@c
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* reader(void* _) {
  use(data);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  step();
  await(2);
  use(data);  // @b
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  step();
  await(3);
  data = 1;  // @c
  return NULL;
}

int main(void) { run2(reader, writer); }
