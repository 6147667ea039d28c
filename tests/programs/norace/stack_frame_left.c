// rule: stacks
// claim: leaving the function after the join is not
// expect: nothing
#include "../order.h"

pthread_t t;

static void* reader(void* local) {
  use(*(int*)local);
  step();
  return NULL;
}

__attribute__((noinline)) static void owner(void) {
  int local = 1;
  pthread_create(&t, NULL, reader, &local);
  await(1);
  join(t);
}

int main(void) {
  owner();
}
