// rule: spinlocks
// claim: a failed pthread_spin_trylock orders nothing
// expect: race write@a write@b
#include "../order.h"

int data;
pthread_spinlock_t lock;

static void* first(void* _) {
  pthread_spin_lock(&lock);
  data = 1;  // @a
  step();
  await(2);
  pthread_spin_unlock(&lock);
  return NULL;
}

static void* second(void* _) {
  await(1);
  int result = pthread_spin_trylock(&lock);
  data = 2;  // @b
  if (result == 0) pthread_spin_unlock(&lock);
  step();
  return NULL;
}

int main(void) {
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  run2(first, second);
  pthread_spin_destroy(&lock);
}
