// rule: mutexes
// claim: timedlock and clocklock that time out order nothing
// flags: -D_GNU_SOURCE
// expect: race write@a read@b
// expect: race write@c read@d
#include <time.h>

#include "../order.h"

int timed_data, clock_data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct timespec in_20_ms(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += 20000000;
  if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  return t;
}

static void* writer(void* _) {
  pthread_mutex_lock(&mutex);
  timed_data = 1;  // @a
  clock_data = 1;  // @c
  step();
  await(2);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void* reader(void* _) {
  await(1);
  struct timespec until = in_20_ms(CLOCK_REALTIME);
  int result = pthread_mutex_timedlock(&mutex, &until);
  if (result == 0) abort();
  use(timed_data);  // @b
  until = in_20_ms(CLOCK_MONOTONIC);
  result = pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until);
  if (result == 0) abort();
  use(clock_data);  // @d
  step();
  return NULL;
}

int main(void) { run2(writer, reader); }
