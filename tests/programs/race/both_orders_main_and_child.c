// rule: both orders
// claim: the parent's access races with its child's, whichever comes first in time
// expect: race write@a write@b
// expect: race write@d write@c
#include "../order.h"

int parent_first, child_first;

static void* child(void* _) {
  child_first = 1;  // @c
  step();
  await(2);
  parent_first = 1;  // @b
  return NULL;
}

int main(void) {
  pthread_t t = start(child);
  await(1);
  child_first = 2;   // @d
  parent_first = 2;  // @a
  step();
  join(t);
}
