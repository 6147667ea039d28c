// rule: dominated accesses
// claim: a read whose write comes after a lock is two accesses: the read alone does not race
// expect: nothing
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* updater(void* _) {
  int value = data;
  await(1);
  pthread_mutex_lock(&mutex);
  data = value + 1;
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

static void* reader(void* _) {
  pthread_mutex_lock(&mutex);
  use(data);
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

int main(void) { run2(updater, reader); }
