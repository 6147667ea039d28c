// rule: once
// claim: who peeks at what a pthread_once initialises, without calling it, races
// expect: race write@a read@b
#include "../order.h"

int value;
pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialise(void) {
  value = 42;  // @a
}

static void* first(void* _) {
  pthread_once(&once, initialise);
  use(value);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  use(value);  // @b
  return NULL;
}

int main(void) { run2(first, second); }
