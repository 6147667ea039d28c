// rule: locks as objects
// claim: a lock that is made before its users exist is theirs
// expect: nothing
#include "../order.h"

pthread_mutex_t lock;
int data;

static void* first(void* _) {
  pthread_mutex_lock(&lock);
  data = 1;
  pthread_mutex_unlock(&lock);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_mutex_lock(&lock);
  data = 2;
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_mutex_init(&lock, NULL);
  run2(first, second);
  pthread_mutex_destroy(&lock);
}
