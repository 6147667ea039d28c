// rule: memory orders
// claim: a relaxed store publishes nothing, whatever the load is
// expect: race write@a read@b
#include <stdatomic.h>

#include "../order.h"

int data;
atomic_int flag;

static void* writer(void* _) {
  data = 1;  // @a
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
  return NULL;
}

static void* reader(void* _) {
  while (!atomic_load_explicit(&flag, memory_order_acquire)) doze(50);
  use(data);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
