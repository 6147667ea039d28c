// rule: condition variables
// claim: timedwait and clockwait reacquire the mutex, whether they time out or not
// expect: nothing
// flags: -D_GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "../order.h"

int inside, aside;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static struct timespec soon(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += 300000000;
  if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  return t;
}

static void* waiter(void* _) {
  pthread_mutex_lock(&mutex);
  step();
  struct timespec until = soon(CLOCK_REALTIME);
  if (pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT) abort();
  await(2);
  use(inside);
  until = soon(CLOCK_MONOTONIC);
  until.tv_nsec /= 2;
  pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until);
  use(inside);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void* writer(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  inside = 1;
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

int main(void) { run2(waiter, writer); }
