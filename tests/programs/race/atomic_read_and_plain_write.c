// rule: memory orders
// claim: a plain write races with an atomic load
// expect: race write@a atomic-read@b
#include "../order.h"

int word;

static void* plain(void* _) {
  word = 1;  // @a
  step();
  return NULL;
}

static void* atomic(void* _) {
  await(1);
  use(__atomic_load_n(&word, __ATOMIC_SEQ_CST));  // @b
  return NULL;
}

int main(void) { run2(plain, atomic); }
