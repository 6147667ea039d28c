// rule: memory orders
// claim: a plain read after the join does not race with an atomic store
// expect: nothing
#include <stdatomic.h>

#include "../order.h"

int word;

static void* writer(void* _) {
  __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
  step();
  return NULL;
}

int main(void) {
  pthread_t t = start(writer);
  await(1);
  join(t);
  use(word);
}
