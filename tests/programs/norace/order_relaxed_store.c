// rule: memory orders
// claim: a release store read by an acquire load publishes what came before it
// expect: nothing
#include <stdatomic.h>

#include "../order.h"

int data;
atomic_int flag;

static void* writer(void* _) {
  data = 1;
  atomic_store_explicit(&flag, 1, memory_order_release);
  return NULL;
}

static void* reader(void* _) {
  while (!atomic_load_explicit(&flag, memory_order_acquire)) doze(50);
  use(data);
  return NULL;
}

int main(void) { run2(writer, reader); }
