// rule: release sequences
// claim: a release read-modify-write adds its own thread's work to the sequence
// expect: nothing
#include <stdatomic.h>

#include "../order.h"

int head_data, middle_data;
atomic_int flag;

static void* head(void* _) {
  head_data = 1;
  atomic_store_explicit(&flag, 1, memory_order_release);
  step();
  return NULL;
}

static void* middle(void* _) {
  await(1);
  middle_data = 1;
  atomic_fetch_add_explicit(&flag, 1, memory_order_release);
  step();
  return NULL;
}

static void* tail(void* _) {
  await(2);
  if (atomic_load_explicit(&flag, memory_order_acquire) != 2) abort();
  use(head_data);
  use(middle_data);
  return NULL;
}

int main(void) { run3(head, middle, tail); }
