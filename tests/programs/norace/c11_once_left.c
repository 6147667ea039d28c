// rule: C11 threads
// claim: a call_once routine that ended its thread is ordered before the one that runs in its place
// expect: nothing
#include <threads.h>

#include "../order.h"

int tries;
once_flag flag = ONCE_FLAG_INIT, other = ONCE_FLAG_INIT;

static void initialise(void) {
  if (tries++ > 0) return;
  step();
  thrd_exit(0);
}

static int first(void* _) {
  call_once(&flag, initialise);
  return 0;
}

static int second(void* _) {
  await(1);
  call_once(&flag, initialise);
  return 0;
}

int main(void) {
  thrd_t a, b;
  thrd_create(&a, first, NULL);
  thrd_create(&b, second, NULL);
  thrd_join(b, NULL);
  thrd_join(a, NULL);
}
