// rule: mutexes
// claim: a mutex taken by both sides protects
// expect: nothing
#include "../order.h"

long counter;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* careful(void* _) {
  pthread_mutex_lock(&mutex);
  counter++;
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

static void* careless(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  counter++;
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) { run2(careful, careless); }
