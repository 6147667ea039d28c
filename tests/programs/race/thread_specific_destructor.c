// rule: threads
// claim: destructors of thread-specific data are part of the thread, and race
// expect: race write@a read@b
#include "../order.h"

int data;
pthread_key_t key;

static void destroy(void* value) {
  data = (int)(intptr_t)value;  // @a
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
  use(data);  // @b
  join(t);
}
