// rule: thread identities
// claim: a detached thread that is gone races with a live one: its end orders nothing
// expect: race write@a read@b
#include <semaphore.h>

#include "../order.h"

int data;
sem_t done;

static void* writer(void* _) {
  pthread_detach(pthread_self());
  data = 1;  // @a
  sem_post(&done);
  step();
  return NULL;
}

static void* other(void* _) { return NULL; }

int main(void) {
  sem_init(&done, 0, 0);
  start(writer);
  await(1);
  doze(50000);  // long enough to be gone
  join(start(other));
  use(data);  // @b
}
