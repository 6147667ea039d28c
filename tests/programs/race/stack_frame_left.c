// rule: stacks
// claim: leaving a function while a thread still uses its local is a race with the end of the local's life
// expect: race read@a any@b
#include "../order.h"

pthread_t t;

static void* reader(void* local) {
  use(*(int*)local);  // @a
  step();
  return NULL;
}

__attribute__((noinline)) static void owner(void) {
  int local = 1;
  pthread_create(&t, NULL, reader, &local);
  await(1);
}  // @b

int main(void) {
  owner();
  join(t);
}
