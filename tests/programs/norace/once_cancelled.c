// rule: once
// claim: a pthread_once routine that was cancelled is ordered before the one that runs in its place
// expect: nothing
#include <unistd.h>

#include "../order.h"

int tries;
pthread_once_t once = PTHREAD_ONCE_INIT, other = PTHREAD_ONCE_INIT;

static void initialise(void) {
  if (tries++ > 0) return;
  step();
  for (;;) pause();
}

static void* first(void* _) {
  pthread_once(&once, initialise);
  return NULL;
}

static void* second(void* _) {
  await(1);
  pthread_once(&once, initialise);
  return NULL;
}

int main(void) {
  pthread_t a = start(first), b = start(second);
  await(1);
  pthread_cancel(a);
  join(b);
  join(a);
}
