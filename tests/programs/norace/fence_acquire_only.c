// rule: fences
// claim: a relaxed load and an acquire fence after it are an acquire
// expect: nothing
#include <stdatomic.h>

#include "../order.h"

int data;
atomic_int flag;

static void* writer(void* _) {
  data = 1;
  atomic_store_explicit(&flag, 1, memory_order_release);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(atomic_load_explicit(&flag, memory_order_relaxed));
  atomic_thread_fence(memory_order_acquire);
  use(data);
  return NULL;
}

int main(void) { run2(writer, reader); }
