// rule: locks as objects
// claim: a lock may be ended once whoever tried it, or took it for reading, is known
// expect: nothing
#include "../order.h"

pthread_mutex_t lock;
pthread_rwlock_t table;

static void* holder(void* _) {
  pthread_mutex_lock(&lock);
  step();
  await(2);
  pthread_mutex_unlock(&lock);
  step();
  return NULL;
}

static void* other(void* _) {
  await(1);
  if (pthread_mutex_trylock(&lock) == 0) return NULL;
  pthread_rwlock_rdlock(&table);
  pthread_rwlock_unlock(&table);
  step();
  return NULL;
}

int main(void) {
  pthread_mutex_init(&lock, NULL);
  pthread_rwlock_init(&table, NULL);
  pthread_t a, b;
  pthread_create(&a, NULL, holder, NULL);
  pthread_create(&b, NULL, other, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  pthread_mutex_destroy(&lock);
  pthread_rwlock_destroy(&table);
}
