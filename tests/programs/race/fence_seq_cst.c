// rule: fences
// claim: a signal fence orders nothing between threads
// expect: race write@a read@b
#include <stdatomic.h>

#include "../order.h"

#define FENCE atomic_signal_fence(memory_order_seq_cst)
int data;
atomic_int flag;

static void* writer(void* _) {
  data = 1;  // @a
  FENCE;
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
  return NULL;
}

static void* reader(void* _) {
  while (!atomic_load_explicit(&flag, memory_order_relaxed)) doze(50);
  FENCE;
  use(data);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
