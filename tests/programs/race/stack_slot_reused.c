// rule: stacks
// claim: a dead local's memory, reused by another function's local, races only as the new local
// expect: race write@a write@b
#include "../order.h"

static void* writer(void* local) {
  *(long*)local = 1;  // @a
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
  await(2);
  *(volatile long*)&local = 2;  // @b
  join(t);
  use(local);
}

int main(void) {
  first();
  second();
}
