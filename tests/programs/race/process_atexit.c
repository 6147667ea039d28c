// rule: exit
// claim: an atexit handler races with a thread that was never joined
// expect: race write@a read@b
#include "../order.h"

int data, registered;

static void at_exit(void) {
  use(registered);
  use(data);  // @b
}

static void* worker(void* _) {
  data = 1;  // @a
  step();
  await(2);
  return NULL;
}

static void* registrar(void* _) {
  registered = 1;
  atexit(at_exit);
  step();
  await(3);
  return NULL;
}

int main(void) {
  pthread_t t = start(worker);
  await(1);
  start(registrar);
  await(2);
  exit(0);
}
