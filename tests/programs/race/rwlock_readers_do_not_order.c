// rule: read-write locks
// claim: one reader's unlock does not order the next reader
// expect: race write@a read@b
#include "../order.h"

int aside;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void* first(void* _) {
  aside = 1;  // @a
  pthread_rwlock_rdlock(&lock);
  pthread_rwlock_unlock(&lock);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_rwlock_rdlock(&lock);
  pthread_rwlock_unlock(&lock);
  use(aside);  // @b
  return NULL;
}

int main(void) { run2(first, second); }
