// rule: loops
// claim: an invariant access in a loop that unlocks counts in every round
// expect: race write@a read@b
#include "../order.h"

int shared;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* walker(void* _) {
  for (int i = 0; i < 2; i++) {
    shared = i;  // @a
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    step();
    await(2 * i + 2);
  }
  return NULL;
}

static void* reader(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  step();
  await(3);
  use(shared);  // @b
  step();
  return NULL;
}

int main(void) { run2(walker, reader); }
