// rule: release sequences
// claim: a later relaxed read-modify-write of the same thread continues it
// expect: nothing
#include <stdatomic.h>

#include "../order.h"

int data;
atomic_int flag;

static void* head(void* _) {
  data = 1;
  atomic_store_explicit(&flag, 1, memory_order_release);
  atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);
  step();
  return NULL;
}

static void* tail(void* _) {
  await(1);
  if (atomic_load_explicit(&flag, memory_order_acquire) != 2) abort();
  use(data);
  return NULL;
}

int main(void) { run2(head, tail); }
