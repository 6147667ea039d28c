// rule: semaphores
// claim: a semaphore with two tokens lets two in, and they race
// expect: race write@a write@b
#include <semaphore.h>

#include "../order.h"

int data;
sem_t semaphore;

static void* first(void* _) {
  sem_wait(&semaphore);
  data = 1;  // @a
  step();
  await(2);
  sem_post(&semaphore);
  return NULL;
}

static void* second(void* _) {
  await(1);
  sem_wait(&semaphore);
  data = 2;  // @b
  sem_post(&semaphore);
  step();
  return NULL;
}

int main(void) {
  sem_init(&semaphore, 0, 2);
  run2(first, second);
}
