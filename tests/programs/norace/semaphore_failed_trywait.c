// rule: semaphores
// claim: sem_wait, sem_trywait and sem_timedwait that succeed are ordered after the posts
// expect: nothing
#include <errno.h>
#include <semaphore.h>
#include <time.h>

#include "../order.h"

int data;
sem_t semaphore;

static void* poster(void* _) {
  data = 1;
  sem_post(&semaphore);
  sem_post(&semaphore);
  step();
  return NULL;
}

static void* waiter(void* _) {
  await(1);
  int value;
  sem_getvalue(&semaphore, &value);
  if (sem_trywait(&semaphore) != 0) abort();
  struct timespec until = {1, 0};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 10;
  if (sem_timedwait(&semaphore, &until) != 0) abort();
  use(data);
  return NULL;
}

int main(void) {
  sem_init(&semaphore, 0, 0);
  run2(poster, waiter);
  sem_destroy(&semaphore);
}
