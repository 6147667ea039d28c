// rule: mutexes
// claim: an adaptive mutex and one with priority inheritance are two mutexes: each protects what is under it only
// flags: -D_GNU_SOURCE
// expect: race write@a write@b
#include "../order.h"

int data;
pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, inheriting;

static void* first(void* _) {
  pthread_mutex_lock(&adaptive);
  pthread_mutex_lock(&inheriting);
  pthread_mutex_unlock(&inheriting);
  data = 1;  // @a
  pthread_mutex_unlock(&adaptive);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_mutex_lock(&inheriting);
  data = 2;  // @b
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
