// rule: threads
// claim: what the parent does after pthread_create races with the child
// expect: race write@a read@b
#include "../order.h"

int data;

static void* child(void* _) {
  await(1);
  use(data);  // @b
  return NULL;
}

int main(void) {
  pthread_t t = start(child);
  data = 1;  // @a
  step();
  join(t);
}
