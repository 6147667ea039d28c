// rule: mutexes
// claim: adaptive mutexes and those with priority inheritance order
// expect: nothing
// flags: -D_GNU_SOURCE
#include "../order.h"

int data;
pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, inheriting;

static void* first(void* _) {
  pthread_mutex_lock(&adaptive);
  pthread_mutex_lock(&inheriting);
  data = 1;
  pthread_mutex_unlock(&inheriting);
  pthread_mutex_unlock(&adaptive);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_mutex_lock(&inheriting);
  data = 2;
  pthread_mutex_unlock(&inheriting);
  return NULL;
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(&inheriting, &attributes);
  run2(first, second);
}
