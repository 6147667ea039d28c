// rule: fences
// claim: an acquire fence before the load learns nothing from it
// expect: race write@a read@b
#include <stdatomic.h>

#include "../order.h"

int data;
atomic_int flag;

static void* writer(void* _) {
  data = 1;  // @a
  atomic_store_explicit(&flag, 1, memory_order_release);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  atomic_thread_fence(memory_order_acquire);
  use(atomic_load_explicit(&flag, memory_order_relaxed));
  use(data);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
