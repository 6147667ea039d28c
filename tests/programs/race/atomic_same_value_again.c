// rule: memory orders
// claim: a relaxed store of the value that was released before releases nothing, though it looks the same
// expect: race write@a read@b
#include <stdatomic.h>

#include "../order.h"

int first, second;
atomic_int flag;

static void* writer(void* _) {
  first = 1;
  atomic_store_explicit(&flag, 1, memory_order_release);
  step();
  await(2);
  second = 1;  // @a
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  if (atomic_load_explicit(&flag, memory_order_acquire) == 1) use(first);
  if (atomic_load_explicit(&flag, memory_order_acquire) == 1) use(first);
  step();
  await(3);
  if (atomic_load_explicit(&flag, memory_order_acquire) == 1) use(second);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
