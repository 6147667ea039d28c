// rule: read-write locks
// claim: two threads that write under the read lock race
// expect: race write@a write@b
#include "../order.h"

int data;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void* first(void* _) {
  pthread_rwlock_rdlock(&lock);
  data = 1;  // @a
  pthread_rwlock_unlock(&lock);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_rwlock_rdlock(&lock);
  data = 2;  // @b
  pthread_rwlock_unlock(&lock);
  return NULL;
}

int main(void) { run2(first, second); }
