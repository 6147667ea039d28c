// rule: memory orders
// claim: an acquire load that read the released value is
// expect: nothing
#include <stdatomic.h>

#include "../order.h"

int data;
atomic_int flag;

static void* writer(void* _) {
  await(1);
  data = 1;
  atomic_store_explicit(&flag, 1, memory_order_release);
  step();
  return NULL;
}

static void* reader(void* _) {
  use(atomic_load_explicit(&flag, memory_order_acquire));
  step();
  await(2);
  use(atomic_load_explicit(&flag, memory_order_acquire));
  use(data);
  return NULL;
}

int main(void) { run2(writer, reader); }
