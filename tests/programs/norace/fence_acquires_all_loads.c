// rule: fences
// claim: one acquire fence learns from every relaxed load before it
// expect: nothing
#include <stdatomic.h>

#include "../order.h"

int data[2];
atomic_int flags[2];

static void publish(int i) {
  data[i] = 1;
  atomic_store_explicit(&flags[i], 1, memory_order_release);
  step();
}

static void* first(void* _) {
  publish(0);
  return NULL;
}

static void* second(void* _) {
  publish(1);
  return NULL;
}

static void* reader(void* _) {
  await(2);
  use(atomic_load_explicit(&flags[0], memory_order_relaxed));
  use(atomic_load_explicit(&flags[1], memory_order_relaxed));
  atomic_thread_fence(memory_order_acquire);
  use(data[0]);
  use(data[1]);
  return NULL;
}

int main(void) { run3(first, second, reader); }
