// rule: read-write locks
// claim: every reader's unlock orders the next writer
// expect: nothing
// flags: -D_GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "../order.h"

int data;
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void* reader(void* _) {
  pthread_rwlock_rdlock(&lock);
  use(data);
  pthread_rwlock_unlock(&lock);
  step();
  await(3);
  return NULL;
}

static void* writer(void* _) {
  await(2);
  if (pthread_rwlock_trywrlock(&lock) != 0) abort();
  data = 1;
  pthread_rwlock_unlock(&lock);
  step();
  return NULL;
}

static void* other_reader(void* _) {
  struct timespec later;
  clock_gettime(CLOCK_REALTIME, &later);
  later.tv_sec += 10;
  if (pthread_rwlock_timedrdlock(&lock, &later) != 0) abort();
  use(data);
  pthread_rwlock_unlock(&lock);
  step();
  return NULL;
}

int main(void) { run3(reader, other_reader, writer); }
