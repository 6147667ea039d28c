// rule: fences
// claim: what is written after the fence is not covered by it, though an earlier store of the same fence was
// expect: race write@a read@b
#include <stdatomic.h>

#include "../order.h"

int before, between;
atomic_int first_flag, second_flag;

static void* writer(void* _) {
  before = 1;
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&first_flag, 1, memory_order_relaxed);
  between = 1;  // @a
  atomic_store_explicit(&second_flag, 1, memory_order_relaxed);
  step();
  return NULL;
}

static void* reader_of_first(void* _) {
  await(1);
  use(atomic_load_explicit(&first_flag, memory_order_acquire));
  use(before);
  return NULL;
}

static void* reader_of_second(void* _) {
  await(1);
  use(atomic_load_explicit(&second_flag, memory_order_acquire));
  use(before);
  use(between);  // @b
  return NULL;
}

int main(void) { run3(writer, reader_of_first, reader_of_second); }
