// rule: release sequences
// claim: a relaxed store of another thread breaks a release sequence
// expect: race write@a read@b
#include <stdatomic.h>

#include "../order.h"

int data;
atomic_int flag;

static void* head(void* _) {
  data = 1;  // @a
  atomic_store_explicit(&flag, 1, memory_order_release);
  step();
  return NULL;
}

static void* middle(void* _) {
  await(1);
  atomic_store_explicit(&flag, 2, memory_order_relaxed);
  step();
  return NULL;
}

static void* tail(void* _) {
  await(2);
  if (atomic_load_explicit(&flag, memory_order_acquire) != 2) abort();
  use(data);  // @b
  return NULL;
}

int main(void) { run3(head, middle, tail); }
