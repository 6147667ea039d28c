// rule: the exact filter
// claim: a write is not covered by an earlier read of the same thread
// expect: race write@a read@b
#include "../order.h"

int data;

static void* first(void* _) {
  use(data);
  data = 1;  // @a
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  use(data);  // @b
  return NULL;
}

int main(void) { run2(first, second); }
