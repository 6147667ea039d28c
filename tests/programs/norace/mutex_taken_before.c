// rule: mutexes
// claim: a lock taken after the other's unlock does
// expect: nothing
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* reader(void* _) {
  step();
  await(2);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  use(data);
  return NULL;
}

static void* writer(void* _) {
  await(1);
  data = 1;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

int main(void) { run2(reader, writer); }
