// rule: signals
// claim: a handler runs after what its installer and its sender did before
// expect: nothing
#include <signal.h>

#include "../order.h"

int installed, data;
volatile int got;

static void handler(int signal) {
  use(installed);
  await(2);
  step();
}

static void* receiver(void* _) {
  step();
  await(3);
  return NULL;
}

int main(void) {
  installed = 1;
  signal(SIGUSR1, handler);
  pthread_t t = start(receiver);
  await(1);
  pthread_kill(t, SIGUSR1);
  step();
  join(t);
}
