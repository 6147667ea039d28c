// rule: C11 threads
// claim: a thread may look for its own handle where thrd_create writes it: that is ordered before its beginning
// expect: nothing
#include <threads.h>

#include "../order.h"

thrd_t handle;

static int child(void* _) {
  await(1);
  use((long)handle);
  step();
  return 0;
}

static void* creator(void* _) {
  if (thrd_create(&handle, child, NULL) != thrd_success) abort();
  step();
  return NULL;
}

static void* other(void* _) {
  await(2);
  return NULL;
}

int main(void) {
  run2(creator, other);
  thrd_join(handle, NULL);
}
