// rule: memory orders
// claim: an atomic store races with a plain read
// expect: race atomic-write@a read@b
#include <stdatomic.h>

#include "../order.h"

int word;

static void* writer(void* _) {
  __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);  // @a
  step();
  return NULL;
}

int main(void) {
  pthread_t t = start(writer);
  await(1);
  use(word);  // @b
  join(t);
}
