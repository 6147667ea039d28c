// rule: release sequences
// claim: since C++20 a later relaxed store of the same thread breaks the release sequence too
// expect: race write@a read@b
#include <stdatomic.h>

#include "../order.h"

int data;
atomic_int flag;

static void* head(void* _) {
  data = 1;  // @a
  atomic_store_explicit(&flag, 1, memory_order_release);
  atomic_store_explicit(&flag, 2, memory_order_relaxed);
  step();
  return NULL;
}

static void* tail(void* _) {
  await(1);
  if (atomic_load_explicit(&flag, memory_order_acquire) != 2) abort();
  use(data);  // @b
  return NULL;
}

int main(void) { run2(head, tail); }
