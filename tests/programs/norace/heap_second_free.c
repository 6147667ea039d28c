// rule: allocation
// claim: an address that was given out again in between may be freed again
// expect: nothing
#include <semaphore.h>

#include "../order.h"

int* block;
sem_t given;

static void* first(void* _) {
  free(block);
  block = (int*)malloc(40);
  sem_post(&given);
  return NULL;
}

static void* second(void* _) {
  sem_wait(&given);
  free(block);
  return NULL;
}

int main(void) {
  sem_init(&given, 0, 0);
  block = (int*)malloc(40);
  *block = 1;
  run2(first, second);
}
