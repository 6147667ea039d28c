// rule: the exact filter
// claim: writes before and after pthread_create are two different writes
// expect: race write@a read@b
#include "../order.h"

int data;

static void* child(void* _) {
  await(1);
  use(data);  // @b
  return NULL;
}

static void* bystander(void* _) {
  await(1);
  return NULL;
}

int main(void) {
  pthread_t other = start(bystander);
  data = 1;
  pthread_t t = start(child);
  data = 2;  // @a
  step();
  join(t);
  join(other);
}
