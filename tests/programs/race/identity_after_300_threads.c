// rule: thread identities
// claim: a thread that died 300 threads ago and was never joined still races
// expect: race write@a read@b
#include "../order.h"

int data;

static void* early(void* _) {
  data = 1;  // @a
  step();
  return NULL;
}

static void* idle(void* _) {
  return NULL;
}

int main(void) {
  pthread_t t = start(early);
  pthread_detach(t);
  await(1);
  for (int i = 0; i < 300; i++) join(start(idle));
  use(data);  // @b
}
