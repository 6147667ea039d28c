// rule: spinlocks
// claim: pthread spinlocks order, lock and trylock alike
// expect: nothing
#include "../order.h"

int data;
pthread_spinlock_t lock;

static void* first(void* _) {
  pthread_spin_lock(&lock);
  data = 1;
  pthread_spin_unlock(&lock);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  int result = pthread_spin_trylock(&lock);
  data = 2;
  if (result == 0) pthread_spin_unlock(&lock);
  step();
  return NULL;
}

int main(void) {
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  run2(first, second);
  pthread_spin_destroy(&lock);
}
