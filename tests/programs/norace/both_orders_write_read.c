// rule: both orders
// claim: the same pair, the read ordered before the write by a semaphore
// expect: nothing
#include <semaphore.h>

#include "../order.h"

int data;
sem_t read_done;

static void* reader(void* _) {
  use(data);
  sem_post(&read_done);
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  sem_wait(&read_done);
  data = 1;
  return NULL;
}

int main(void) {
  sem_init(&read_done, 0, 0);
  run2(reader, writer);
}
