// rule: mutexes
// claim: between inner and outermost unlock a recursive mutex is still held
// expect: nothing
// flags: -D_GNU_SOURCE
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void* first(void* _) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  data = 1;
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
  data = 2;
  pthread_mutex_unlock(&mutex);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) { run2(first, second); }
