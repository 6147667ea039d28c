// rule: locks as objects
// claim: whoever knows the last use of a lock knows all before it, and may destroy it
// expect: nothing
#include "../order.h"

pthread_mutex_t lock;
int done;

static void* first(void* _) {
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
  step();
  return NULL;
}

int main(void) {
  pthread_mutex_init(&lock, NULL);
  pthread_t a, b;
  pthread_create(&a, NULL, first, NULL);
  pthread_create(&b, NULL, second, NULL);
  await(2);
  while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) == 0) doze(100);
  pthread_mutex_destroy(&lock);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
}
