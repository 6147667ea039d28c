// rule: escaping locals
// claim: a local that is published later in the function is shared from then on
// expect: race write@a read@b
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
  message.body[4] = 5;  // @a
  step();
  while (!atomic_load(&done)) doze(50);  // the message lives as long as it is used
  return NULL;
}

static void* reader(void* _) {
  await(1);
  struct Message* got = atomic_load_explicit(&published, memory_order_acquire);
  use(got->body[4]);  // @b
  atomic_store(&done, 1);
  return NULL;
}

int main(void) { run2(owner, reader); }
