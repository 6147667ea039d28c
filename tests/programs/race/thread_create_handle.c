// rule: threads
// claim: a thread that looks for its own handle where pthread_create writes it races
// expect: race write@a read@b
#include <semaphore.h>

#include "../order.h"

pthread_t handle;
sem_t ready;

static void* child(void* _) {
  await(1);
  use((long)handle);  // @b
  return NULL;
}

int main(void) {
  sem_init(&ready, 0, 0);
  pthread_create(&handle, NULL, child, NULL);  // @a
  sem_post(&ready);
  step();
  join(handle);
}
