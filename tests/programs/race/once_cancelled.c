// rule: once
// claim: a pthread_once routine that was cancelled is not ordered before the one of another flag
// expect: race write@a any@a
#include <unistd.h>

#include "../order.h"

int tries;
pthread_once_t once = PTHREAD_ONCE_INIT, other = PTHREAD_ONCE_INIT;

static void initialise(void) {
  if (tries++ > 0) return;  // @a
  step();
  for (;;) pause();
}

static void* first(void* _) {
  pthread_once(&once, initialise);
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_once(&other, initialise);
  return NULL;
}

int main(void) {
  pthread_t a = start(first), b = start(second);
  await(1);
  pthread_cancel(a);
  join(b);
  join(a);
}
