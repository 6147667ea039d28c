// rule: fences
// claim: reference counting with relaxed decrements and fences is correct
// expect: nothing
#include <stdatomic.h>

#include "../order.h"

int data[2];
atomic_int references = 2;

static void leave(int mine) {
  data[mine] = 1;
  atomic_thread_fence(memory_order_release);
  if (atomic_fetch_sub_explicit(&references, 1, memory_order_relaxed) == 1) {
    atomic_thread_fence(memory_order_acquire);
    use(data[1 - mine]);
  }
}

static void* first(void* _) {
  leave(0);
  return NULL;
}

static void* second(void* _) {
  leave(1);
  return NULL;
}

int main(void) { run2(first, second); }
