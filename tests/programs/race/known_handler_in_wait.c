// rule: what everybody knows
// claim: a thread that waits for another one runs a handler that does not know what the other two know
// expect: race write@a read@b
#include <signal.h>
#include <sys/time.h>

#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void handler(int signal) {
  (void)signal;
  if (steps_so_far() != 2) return;
  use(data);  // @b
  step();
}

static void* writer(void* _) {
  doze(20000);  // the main thread waits
  pthread_mutex_lock(&mutex);
  data = 1;  // @a
  pthread_mutex_unlock(&mutex);
  step();
  await(3);
  return NULL;
}

static void* reader(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  use(data);
  pthread_mutex_unlock(&mutex);
  step();
  await(3);
  return NULL;
}

int main(void) {
  signal(SIGALRM, handler);
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
  pthread_t const first = start(writer);
  pthread_t const second = start(reader);
  pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
  struct itimerval const soon = {{0, 50000}, {0, 50000}};
  setitimer(ITIMER_REAL, &soon, NULL);
  join(first);
  join(second);
  struct itimerval const never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
}
