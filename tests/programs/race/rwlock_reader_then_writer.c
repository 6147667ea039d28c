// rule: read-write locks
// claim: a writer that could not get the lock is not ordered after the reader
// flags: -D_GNU_SOURCE
// expect: race read@a write@b
#include <errno.h>
#include <time.h>

#include "../order.h"

int data;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void* reader(void* _) {
  pthread_rwlock_rdlock(&lock);
  use(data);  // @a
  step();
  await(3);
  pthread_rwlock_unlock(&lock);
  return NULL;
}

static void* writer(void* _) {
  await(2);
  if (pthread_rwlock_trywrlock(&lock) != EBUSY) abort();
  struct timespec past = {1, 0};
  if (pthread_rwlock_timedwrlock(&lock, &past) != ETIMEDOUT) abort();
  data = 1;  // @b
  step();
  return NULL;
}

static void* other_reader(void* _) {
  step();
  return NULL;
}

int main(void) { run3(reader, other_reader, writer); }
