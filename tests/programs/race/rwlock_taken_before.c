// rule: read-write locks
// claim: a lock taken for reading before there were threads orders nothing for another reader
// expect: race read@a write@b
#include "../order.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int data;
volatile int seen;

static void* writer(void* _) {
  await(1);
  pthread_rwlock_rdlock(&lock);
  data = 1;  // @b
  pthread_rwlock_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_rwlock_rdlock(&lock);
  pthread_create(&thread, NULL, writer, NULL);
  seen = data;  // @a
  pthread_rwlock_unlock(&lock);
  step();
  pthread_join(thread, NULL);
}
