// rule: semaphores
// claim: a semaphore with one token is a lock
// expect: nothing
#include <semaphore.h>

#include "../order.h"

int data;
sem_t semaphore;

static void* first(void* _) {
  sem_wait(&semaphore);
  data = 1;
  sem_post(&semaphore);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  sem_wait(&semaphore);
  data = 2;
  sem_post(&semaphore);
  step();
  return NULL;
}

int main(void) {
  sem_init(&semaphore, 0, 1);
  run2(first, second);
}
