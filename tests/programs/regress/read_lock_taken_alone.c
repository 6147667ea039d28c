// rule: read-write locks
// claim: a read lock taken before there was another thread is still a read lock when it is released
// expect: nothing
#include "../order.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int shared_value;
static volatile int sink;

static void* reader(void* _) {
  pthread_rwlock_rdlock(&lock);
  sink = shared_value;
  pthread_rwlock_unlock(&lock);
  step();
  return NULL;
}

static void* writer(void* _) {
  await(2);
  pthread_rwlock_wrlock(&lock);
  shared_value = 1;
  pthread_rwlock_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_rwlock_rdlock(&lock);
  pthread_create(&threads[0], NULL, reader, NULL);
  pthread_create(&threads[1], NULL, writer, NULL);
  await(1);
  pthread_rwlock_unlock(&lock);
  step();
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
}
