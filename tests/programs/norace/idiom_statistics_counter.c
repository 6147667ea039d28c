// rule: idioms
// claim: a relaxed atomic counter, read after the join, does not
// expect: nothing
#include <stdatomic.h>

#include "../order.h"

atomic_long hits;

static void* worker(void* _) {
  for (int i = 0; i < 1000; i++) {
    atomic_fetch_add_explicit(&hits, i, memory_order_relaxed);
  }
  return NULL;
}

int main(void) {
  run2(worker, worker);
  use(hits);
}
