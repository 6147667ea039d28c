// rule: read-write locks
// claim: a lock taken for writing before there were threads orders what it guards
// expect: nothing
#include "../order.h"

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int data;
volatile int seen;

static void* writer(void* _) {
  await(1);
  pthread_rwlock_rdlock(&lock);
  data = 1;
  pthread_rwlock_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_rwlock_wrlock(&lock);
  pthread_create(&thread, NULL, writer, NULL);
  seen = data;
  pthread_rwlock_unlock(&lock);
  step();
  pthread_join(thread, NULL);
}
