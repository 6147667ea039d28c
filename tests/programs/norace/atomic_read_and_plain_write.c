// rule: memory orders
// claim: an atomic load and a plain read never race
// expect: nothing
#include "../order.h"

int word;

static void* plain(void* _) {
  use(word);
  step();
  return NULL;
}

static void* atomic(void* _) {
  await(1);
  use(__atomic_load_n(&word, __ATOMIC_SEQ_CST));
  return NULL;
}

int main(void) { run2(plain, atomic); }
