// rule: signals
// claim: a handler does not race with the thread it interrupts, nor through atomics
// expect: nothing
#include <signal.h>

#include "../order.h"

volatile int data;
_Atomic int seen;

static void handler(int signal) {
  data = signal;
  seen = 1;
  step();
}

static void* interrupted(void* _) {
  data = 1;
  raise(SIGUSR1);
  use(data);
  return NULL;
}

static void* other(void* _) {
  await(1);
  while (!seen) doze(100);
  use(data);
  return NULL;
}

int main(void) {
  signal(SIGUSR1, handler);
  run2(interrupted, other);
}
