// rule: thread identities
// claim: 300 threads one after the other, all joined, write one variable
// expect: nothing
#include "../order.h"

int data;

static void* early(void* _) {
  data = 1;
  step();
  return NULL;
}

static void* idle(void* _) {
  data++;
  return NULL;
}

int main(void) {
  pthread_t t = start(early);
  join(t);
  await(1);
  for (int i = 0; i < 300; i++) join(start(idle));
  use(data);
}
