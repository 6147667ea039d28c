// rule: locks as objects
// claim: a lock that was only tried, or taken for reading, was used: ending it unordered is a race
// expect: race read@tried write@end
// expect: race read@shared write@gone
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
  if (pthread_mutex_trylock(&lock) == 0) return NULL;  // @tried
  pthread_rwlock_rdlock(&table);                       // @shared
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
  pthread_mutex_destroy(&lock);    // @end
  pthread_rwlock_destroy(&table);  // @gone
  pthread_join(b, NULL);
}
