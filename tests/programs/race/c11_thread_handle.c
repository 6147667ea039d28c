// rule: C11 threads
// claim: a thread that nothing orders after thrd_create races with its write of the handle
// expect: race write@a read@b
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
  if (thrd_create(&handle, child, NULL) != thrd_success) abort();  // @a
  step();
  return NULL;
}

static void* other(void* _) {
  await(2);
  use((long)handle);  // @b
  return NULL;
}

int main(void) {
  run2(creator, other);
  thrd_join(handle, NULL);
}
