// rule: mutexes
// claim: a trylock that fails orders nothing
// expect: race write@a read@b
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* writer(void* _) {
  pthread_mutex_lock(&mutex);
  data = 1;  // @a
  pthread_mutex_unlock(&mutex);
  pthread_mutex_lock(&mutex);
  step();
  await(2);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void* reader(void* _) {
  await(1);
  int result = pthread_mutex_trylock(&mutex);
  if (result == 0) abort();
  use(data);  // @b
  step();
  return NULL;
}

int main(void) { run2(writer, reader); }
