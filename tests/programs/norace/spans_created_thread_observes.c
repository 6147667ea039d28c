// rule: the exact filter
// claim: writes before pthread_create are ordered
// expect: nothing
#include "../order.h"

int data;

static void* child(void* _) {
  await(1);
  use(data);
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
  step();
  join(t);
  join(other);
}
