// rule: memory orders
// claim: the second release of the same value is read as what it is
// expect: nothing
#include <stdatomic.h>

#include "../order.h"

int first, second;
atomic_int flag;

static void* writer(void* _) {
  first = 1;
  atomic_store_explicit(&flag, 1, memory_order_release);
  step();
  await(2);
  second = 1;
  atomic_store_explicit(&flag, 1, memory_order_release);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  if (atomic_load_explicit(&flag, memory_order_acquire) == 1) use(first);
  if (atomic_load_explicit(&flag, memory_order_acquire) == 1) use(first);
  step();
  await(3);
  if (atomic_load_explicit(&flag, memory_order_acquire) == 1) use(second);
  return NULL;
}

int main(void) { run2(writer, reader); }
