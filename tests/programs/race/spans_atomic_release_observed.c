// rule: the exact filter
// claim: a write after an observed atomic release is a new one
// expect: race write@a read@b
#include <stdatomic.h>

#include "../order.h"

int data;
atomic_int flag;

static void* writer(void* _) {
  data = 1;
  atomic_store_explicit(&flag, 1, memory_order_release);
  step();
  await(2);
  data = 2;  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(atomic_load_explicit(&flag, memory_order_acquire));
  step();
  await(3);
  use(atomic_load_explicit(&flag, memory_order_acquire));
  use(data);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
