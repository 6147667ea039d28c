// rule: both orders
// claim: the parent's accesses before create and after join race with nothing
// expect: nothing
#include "../order.h"

int parent_first, child_first;

static void* child(void* _) {
  child_first = 1;
  step();
  await(2);
  parent_first = 1;
  return NULL;
}

int main(void) {
  parent_first = 2;
  pthread_t t = start(child);
  await(1);
  step();
  join(t);
  child_first = 2;
}
