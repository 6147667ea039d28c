// rule: locks as objects
// claim: a lock that was made unordered with its use is a race, although the lock itself then orders the two threads
// expect: race write@made read@use
#include "../order.h"

pthread_mutex_t lock;
int data;

static void* first(void* _) {
  pthread_mutex_init(&lock, NULL);  // @made
  pthread_mutex_lock(&lock);
  data = 1;
  pthread_mutex_unlock(&lock);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_mutex_lock(&lock);  // @use
  data = 2;
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  run2(first, second);
  pthread_mutex_destroy(&lock);
}
