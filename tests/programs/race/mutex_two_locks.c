// rule: mutexes
// claim: two threads that hold two different mutexes race
// expect: race write@a write@b
#include "../order.h"

int one, two;
pthread_mutex_t first_mutex = PTHREAD_MUTEX_INITIALIZER, second_mutex = PTHREAD_MUTEX_INITIALIZER;

static void* first(void* _) {
  pthread_mutex_lock(&first_mutex);
  one = 1;  // @a
  pthread_mutex_unlock(&first_mutex);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_mutex_lock(&second_mutex);
  one = 2;  // @b
  pthread_mutex_unlock(&second_mutex);
  return NULL;
}

int main(void) { run2(first, second); }
