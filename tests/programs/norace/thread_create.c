// rule: threads
// claim: what the parent did before pthread_create is ordered before the child
// expect: nothing
#include "../order.h"

int data;

static void* child(void* _) {
  await(1);
  use(data);
  return NULL;
}

int main(void) {
  data = 1;
  pthread_t t = start(child);
  step();
  join(t);
}
