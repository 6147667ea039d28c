// rule: threads
// claim: tryjoin and timedjoin that fail order nothing
// flags: -D_GNU_SOURCE
// expect: race write@a read@b
#include <errno.h>
#include <time.h>

#include "../order.h"

int data[4];

static void* body(void* number) {
  data[(intptr_t)number] = 1;  // @a
  step();
  await(2);
  return NULL;
}

int main(void) {
  pthread_t t;
  pthread_create(&t, NULL, body, NULL);
  await(1);
  struct timespec past = {1, 0};
  if (pthread_tryjoin_np(t, NULL) != EBUSY) abort();
  if (pthread_timedjoin_np(t, NULL, &past) != ETIMEDOUT) abort();
  use(data[0]);  // @b
  step();
  pthread_join(t, NULL);
}
