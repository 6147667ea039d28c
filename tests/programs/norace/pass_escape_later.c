// rule: escaping locals
// claim: a local that was private when it was written, and published by release, does not race
// expect: nothing
#include <stdatomic.h>

#include "../order.h"

struct Message {
  int body[8];
};
_Atomic(struct Message*) published;
atomic_int done;

static void* owner(void* _) {
  struct Message message = {{1, 2, 3}};
  atomic_store_explicit(&published, &message, memory_order_release);
  step();
  while (!atomic_load(&done)) doze(50);  // the message lives as long as it is used
  return NULL;
}

static void* reader(void* _) {
  await(1);
  struct Message* got = atomic_load_explicit(&published, memory_order_acquire);
  use(got->body[4]);
  atomic_store(&done, 1);
  return NULL;
}

int main(void) { run2(owner, reader); }
