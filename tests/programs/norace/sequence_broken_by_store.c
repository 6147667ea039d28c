// rule: release sequences
// claim: a relaxed read-modify-write of another thread continues a release sequence
// expect: nothing
#include <stdatomic.h>

#include "../order.h"

int data;
atomic_int flag;

static void* head(void* _) {
  data = 1;
  atomic_store_explicit(&flag, 1, memory_order_release);
  step();
  return NULL;
}

static void* middle(void* _) {
  await(1);
  atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);
  step();
  return NULL;
}

static void* tail(void* _) {
  await(2);
  if (atomic_load_explicit(&flag, memory_order_acquire) != 2) abort();
  use(data);
  return NULL;
}

int main(void) { run3(head, middle, tail); }
