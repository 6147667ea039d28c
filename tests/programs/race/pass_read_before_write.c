// rule: dominated accesses
// claim: a read and the write after it may be one check, but the race is found
// expect: race any@a read@b
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* updater(void* _) {
  int value = data;  // @a
  data = value + 1;  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(data);  // @b
  return NULL;
}

int main(void) { run2(updater, reader); }
