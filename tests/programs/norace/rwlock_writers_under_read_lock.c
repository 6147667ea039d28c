// rule: read-write locks
// claim: writers under the write lock and readers under the read lock do not
// expect: nothing
#include "../order.h"

int data;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void* first(void* _) {
  pthread_rwlock_wrlock(&lock);
  data = 1;
  pthread_rwlock_unlock(&lock);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_rwlock_rdlock(&lock);
  use(data);
  pthread_rwlock_unlock(&lock);
  return NULL;
}

int main(void) { run2(first, second); }
