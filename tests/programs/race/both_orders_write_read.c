// rule: both orders
// claim: the same pair races when the read comes first in time
// expect: race read@a write@b
#include <semaphore.h>

#include "../order.h"

int data;
sem_t read_done;

static void* reader(void* _) {
  use(data);  // @a
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  data = 1;  // @b
  return NULL;
}

int main(void) {
  sem_init(&read_done, 0, 0);
  run2(reader, writer);
}
