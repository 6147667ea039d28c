// rule: threads
// claim: a thread that waits until pthread_create has returned may look for its own handle there
// expect: nothing
#include <semaphore.h>

#include "../order.h"

pthread_t handle;
sem_t ready;

static void* child(void* _) {
  await(1);
  sem_wait(&ready);
  use((long)handle);
  return NULL;
}

int main(void) {
  sem_init(&ready, 0, 0);
  pthread_create(&handle, NULL, child, NULL);
  sem_post(&ready);
  step();
  join(handle);
}
