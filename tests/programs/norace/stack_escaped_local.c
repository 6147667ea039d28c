// rule: stacks
// claim: a local written before the thread starts and after it is joined does not race
// expect: nothing
#include "../order.h"

static void* reader(void* local) {
  use(*(int*)local);
  step();
  return NULL;
}

int main(void) {
  int local = 1;
  pthread_t t;
  pthread_create(&t, NULL, reader, &local);
  await(1);
  join(t);
  local = 2;
  use(local);
  __asm__ volatile("" : : "r"(&local) : "memory");
}
