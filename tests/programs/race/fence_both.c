// rule: fences
// claim: a release fence without an acquire on the other side orders nothing
// expect: race write@a read@b
#include <stdatomic.h>

#include "../order.h"

int data;
atomic_int flag;

static void* writer(void* _) {
  data = 1;  // @a
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
  return NULL;
}

static void* reader(void* _) {
  while (!atomic_load_explicit(&flag, memory_order_relaxed)) doze(50);
  use(data);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
