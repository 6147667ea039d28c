// rule: semaphores
// claim: sem_trywait that fails and sem_getvalue order nothing
// expect: race write@a read@b
#include <errno.h>
#include <semaphore.h>
#include <time.h>

#include "../order.h"

int data;
sem_t semaphore;

static void* poster(void* _) {
  data = 1;  // @a
  step();
  return NULL;
}

static void* waiter(void* _) {
  await(1);
  int value;
  sem_getvalue(&semaphore, &value);
  if (sem_trywait(&semaphore) == 0 || errno != EAGAIN) abort();
  struct timespec until = {1, 0};
  if (sem_timedwait(&semaphore, &until) == 0) abort();
  use(data);  // @b
  return NULL;
}

int main(void) {
  sem_init(&semaphore, 0, 0);
  run2(poster, waiter);
  sem_destroy(&semaphore);
}
