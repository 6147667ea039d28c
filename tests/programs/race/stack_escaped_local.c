// rule: stacks
// claim: a local handed to a thread races when its owner writes it meanwhile
// expect: race read@a write@b
#include "../order.h"

static void* reader(void* local) {
  use(*(int*)local);  // @a
  step();
  return NULL;
}

int main(void) {
  int local = 1;
  pthread_t t;
  pthread_create(&t, NULL, reader, &local);
  await(1);
  local = 2;  // @b
  use(local);
  __asm__ volatile("" : : "r"(&local) : "memory");
  join(t);
}
