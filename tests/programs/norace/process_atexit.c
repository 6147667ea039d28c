// rule: exit
// claim: atexit handlers run after what their registrar did, and after all that was joined
// expect: nothing
#include "../order.h"

int data, registered;

static void at_exit(void) {
  use(registered);
  use(data);
}

static void* worker(void* _) {
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
  join(t);
  exit(0);
}
