// rule: mutexes
// claim: two mutexes for two variables
// expect: nothing
#include "../order.h"

int one, two;
pthread_mutex_t first_mutex = PTHREAD_MUTEX_INITIALIZER, second_mutex = PTHREAD_MUTEX_INITIALIZER;

static void* first(void* _) {
  pthread_mutex_lock(&first_mutex);
  one = 1;
  pthread_mutex_unlock(&first_mutex);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_mutex_lock(&second_mutex);
  two = 2;
  pthread_mutex_unlock(&second_mutex);
  return NULL;
}

int main(void) { run2(first, second); }
