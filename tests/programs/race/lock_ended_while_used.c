// rule: locks as objects
// claim: taking a lock reads it: destroying it races with a use that nothing orders before, the last of many
// expect: race read@use write@end
#include "../order.h"

pthread_mutex_t lock;

static void* first(void* _) {
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_mutex_lock(&lock);  // @use
  pthread_mutex_unlock(&lock);
  step();
  return NULL;
}

int main(void) {
  pthread_mutex_init(&lock, NULL);
  pthread_t a, b;
  pthread_create(&a, NULL, first, NULL);
  pthread_create(&b, NULL, second, NULL);
  pthread_join(a, NULL);
  await(2);
  pthread_mutex_destroy(&lock);  // @end
  pthread_join(b, NULL);
}
