// rule: mutexes
// claim: a mutex taken by one side only protects nothing
// expect: race any@a any@b
#include "../order.h"

long counter;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* careful(void* _) {
  pthread_mutex_lock(&mutex);
  counter++;  // @a
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

static void* careless(void* _) {
  await(1);
  counter++;  // @b
  return NULL;
}

int main(void) { run2(careful, careless); }
