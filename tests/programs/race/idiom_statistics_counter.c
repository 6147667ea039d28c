// rule: idioms
// claim: a statistics counter without atomics races
// expect: race any@a any@a
#include <stdatomic.h>

#include "../order.h"

long hits;

static void* worker(void* _) {
  for (int i = 0; i < 1000; i++) {
    hits += i;  // @a
  }
  return NULL;
}

int main(void) {
  run2(worker, worker);
  use(hits);
}
