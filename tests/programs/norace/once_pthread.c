// rule: once
// claim: every caller of pthread_once is ordered after the initialisation
// expect: nothing
#include "../order.h"

int value;
pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialise(void) {
  value = 42;
}

static void* first(void* _) {
  pthread_once(&once, initialise);
  use(value);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_once(&once, initialise);
  use(value);
  return NULL;
}

int main(void) { run2(first, second); }
