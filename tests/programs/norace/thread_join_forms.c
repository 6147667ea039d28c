// rule: threads
// claim: join, tryjoin, timedjoin and clockjoin order all that the thread did
// expect: nothing
// flags: -D_GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "../order.h"

int data[4];

static void* body(void* number) {
  data[(intptr_t)number] = 1;
  step();
  return NULL;
}

int main(void) {
  pthread_t threads[4];
  for (intptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, body, (void*)i);
  struct timespec until;
  pthread_join(threads[0], NULL);
  while (pthread_tryjoin_np(threads[1], NULL) == EBUSY) doze(100);
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 10;
  if (pthread_timedjoin_np(threads[2], NULL, &until) != 0) abort();
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += 10;
  if (pthread_clockjoin_np(threads[3], NULL, CLOCK_MONOTONIC, &until) != 0) abort();
  for (int i = 0; i < 4; i++) use(data[i]);
}
