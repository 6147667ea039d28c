// rule: loops
// claim: a call that releases inside a loop separates the loop's accesses
// expect: race write@a read@b
#include "../order.h"

int shared;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void hand_over(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
void (*volatile unknown)(void) = hand_over;

static void* walker(void* _) {
  for (int i = 0; i < 3; i++) {
    shared = i;  // @a
    unknown();
    step();
    if (i == 0) await(2);
  }
  return NULL;
}

static void* reader(void* _) {
  await(1);
  hand_over();
  step();
  await(4);
  use(shared);  // @b
  return NULL;
}

int main(void) { run2(walker, reader); }
