// rule: fences
// claim: release fence, relaxed store, relaxed load, acquire fence: ordered
// expect: nothing
#include <stdatomic.h>

#include "../order.h"

int data;
atomic_int flag;

static void* writer(void* _) {
  data = 1;
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
  return NULL;
}

static void* reader(void* _) {
  while (!atomic_load_explicit(&flag, memory_order_relaxed)) doze(50);
  atomic_thread_fence(memory_order_acquire);
  use(data);
  return NULL;
}

int main(void) { run2(writer, reader); }
