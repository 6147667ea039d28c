// rule: loops
// claim: an invariant access under the lock in every round is protected
// expect: nothing
#include "../order.h"

int shared;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* walker(void* _) {
  for (int i = 0; i < 2; i++) {
    pthread_mutex_lock(&mutex);
    shared = i;
    pthread_mutex_unlock(&mutex);
    step();
    await(2 * i + 2);
  }
  return NULL;
}

static void* reader(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  use(shared);
  pthread_mutex_unlock(&mutex);
  step();
  await(3);
  step();
  return NULL;
}

int main(void) { run2(walker, reader); }
