// rule: mutexes
// claim: who takes over a robust mutex from a dead owner is ordered after all the owner did
// expect: nothing
// flags: -D_GNU_SOURCE
#include <errno.h>

#include "../order.h"

int data;
pthread_mutex_t mutex;

static void* owner(void* _) {
  pthread_mutex_lock(&mutex);
  data = 1;
  step();
  return NULL;  // dies with the lock held
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &attributes);
  pthread_t t = start(owner);
  await(1);
  if (pthread_mutex_lock(&mutex) != EOWNERDEAD) abort();
  use(data);
  pthread_mutex_consistent(&mutex);
  pthread_mutex_unlock(&mutex);
  join(t);
}
