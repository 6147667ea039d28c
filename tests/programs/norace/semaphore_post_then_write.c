// rule: semaphores
// claim: a named semaphore orders like any other
// expect: nothing
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

#include "../order.h"

int data;
sem_t* semaphore;

static void* poster(void* _) {
  data = 1;
  sem_post(semaphore);
  step();
  return NULL;
}

static void* waiter(void* _) {
  sem_wait(semaphore);
  await(1);
  use(data);
  return NULL;
}

int main(void) {
  char name[64];
  snprintf(name, sizeof name, "/deadheat-test-%d", (int)getpid());
  semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
  if (semaphore == SEM_FAILED) abort();
  sem_unlink(name);
  run2(poster, waiter);
  sem_close(semaphore);
}
