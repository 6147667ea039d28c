// rule: signals
// claim: what a handler does on one thread races with another thread
// expect: race write@a read@b
#include <signal.h>

#include "../order.h"

volatile int data;
_Atomic int seen;

static void handler(int signal) {
  data = signal;  // @a
  seen = 1;
  step();
}

static void* interrupted(void* _) {
  raise(SIGUSR1);
  return NULL;
}

static void* other(void* _) {
  await(1);
  use(data);  // @b
  return NULL;
}

int main(void) {
  signal(SIGUSR1, handler);
  run2(interrupted, other);
}
