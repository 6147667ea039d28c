// rule: dominated accesses
// claim: two writes in one critical section
// expect: nothing
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* writer(void* _) {
  pthread_mutex_lock(&mutex);
  data = 1;
  data = 2;
  pthread_mutex_unlock(&mutex);
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
