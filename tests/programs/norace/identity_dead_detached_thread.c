// rule: thread identities
// claim: a semaphore posted at its end orders a detached thread
// expect: nothing
#include <semaphore.h>

#include "../order.h"

int data;
sem_t done;

static void* writer(void* _) {
  pthread_detach(pthread_self());
  data = 1;
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
  sem_wait(&done);
  use(data);
}
