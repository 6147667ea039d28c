// rule: fences
// claim: one release fence makes every later relaxed store a release of what came before the fence
// expect: nothing
#include <stdatomic.h>

#include "../order.h"

int before, between;
atomic_int first_flag, second_flag;

static void* writer(void* _) {
  before = 1;
  between = 1;
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&first_flag, 1, memory_order_relaxed);
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
  use(between);
  return NULL;
}

int main(void) { run3(writer, reader_of_first, reader_of_second); }
