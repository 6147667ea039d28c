// rule: mutexes
// claim: who does not take the robust mutex of a dead owner races with what the owner did
// flags: -D_GNU_SOURCE
// expect: race write@a read@b
#include <errno.h>

#include "../order.h"

int data;
pthread_mutex_t mutex;

static void* owner(void* _) {
  pthread_mutex_lock(&mutex);
  data = 1;  // @a
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
  use(data);  // @b
  join(t);
}
