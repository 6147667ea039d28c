// rule: mutexes
// claim: writing after the outermost unlock of a recursive mutex races
// flags: -D_GNU_SOURCE
// expect: race write@a write@b
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void* first(void* _) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  pthread_mutex_unlock(&mutex);
  data = 1;  // @a
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
  data = 2;  // @b
  pthread_mutex_unlock(&mutex);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) { run2(first, second); }
