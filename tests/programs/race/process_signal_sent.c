// rule: signals
// claim: what the sender does after pthread_kill is not ordered before the handler
// expect: race write@a read@b
#include <signal.h>

#include "../order.h"

int installed, data;
volatile int got;

static void handler(int signal) {
  use(installed);
  await(2);
  use(data);  // @b
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
  data = 1;  // @a
  step();
  join(t);
}
