// rule: what everybody knows
// claim: a handler in a thread that waits may read what was written before the thread began to wait
// expect: nothing
#include <signal.h>
#include <sys/time.h>

#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void handler(int signal) {
  (void)signal;
  if (steps_so_far() != 2) return;
  use(data);
  step();
}

static void* reader(void* _) {
  pthread_mutex_lock(&mutex);
  use(data);
  pthread_mutex_unlock(&mutex);
  step();
  await(3);
  return NULL;
}

int main(void) {
  data = 1;
  signal(SIGALRM, handler);
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
  pthread_t const first = start(reader);
  pthread_t const second = start(reader);
  pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
  struct itimerval const soon = {{0, 50000}, {0, 50000}};
  setitimer(ITIMER_REAL, &soon, NULL);
  join(first);
  join(second);
  struct itimerval const never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
}
