// rule: mutexes
// claim: timedlock and clocklock that succeed order like a lock
// expect: nothing
// flags: -D_GNU_SOURCE
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
  timed_data = 1;
  clock_data = 1;
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  struct timespec until = in_20_ms(CLOCK_REALTIME);
  int result = pthread_mutex_timedlock(&mutex, &until);
  if (result != 0) abort();
  use(timed_data);
  pthread_mutex_unlock(&mutex);
  until = in_20_ms(CLOCK_MONOTONIC);
  result = pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until);
  if (result != 0) abort();
  use(clock_data);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) { run2(writer, reader); }
