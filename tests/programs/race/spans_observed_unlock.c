// rule: the exact filter
// claim: a repeated write counts again once another thread has taken the lock in between
// expect: race write@a read@b
#include "../order.h"

// T0: lock, write, unlock; T1: lock, unlock; T0: lock, write, unlock; T1: read. The second write must not be dropped as
// a repetition of the first, though it has the same place, lock and thread.
int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* writer(void* _) {
  for (int round = 0; round < 2; round++) {
    await(2 * round);
    pthread_mutex_lock(&mutex);
    data = round;  // @a
    pthread_mutex_unlock(&mutex);
    step();
  }
  return NULL;
}

static void* reader(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  step();
  await(3);
  use(data);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
