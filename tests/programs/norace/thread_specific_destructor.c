// rule: threads
// claim: a join orders the destructors of thread-specific data too
// expect: nothing
#include "../order.h"

int data;
pthread_key_t key;

static void destroy(void* value) {
  data = (int)(intptr_t)value;
  step();
}

static void* body(void* _) {
  pthread_setspecific(key, (void*)7);
  return NULL;
}

int main(void) {
  pthread_key_create(&key, destroy);
  pthread_t t = start(body);
  await(1);
  join(t);
  use(data);
}
