// rule: stacks
// claim: two functions whose locals share a stack slot, each with a thread of its own, do not race
// expect: nothing
#include "../order.h"

static void* writer(void* local) {
  *(long*)local = 1;
  step();
  return NULL;
}

__attribute__((noinline)) static void first(void) {
  long local = 0;
  pthread_t t;
  pthread_create(&t, NULL, writer, &local);
  join(t);
  use(local);
}

__attribute__((noinline)) static void second(void) {
  long local = 0;
  pthread_t t;
  pthread_create(&t, NULL, writer, &local);
  join(t);
  use(local);
}

int main(void) {
  first();
  second();
}
