// rule: what everybody knows
// claim: a thread that is created while two others pass data back and forth does not know what comes after
// expect: race write@a read@b
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_t third;

static void* untold(void* _) {
  await(3);
  use(data);  // @b
  return NULL;
}

static void* writer(void* _) {
  third = start(untold);
  step();
  pthread_mutex_lock(&mutex);
  data = 1;  // @a
  pthread_mutex_unlock(&mutex);
  step();
  join(third);
  return NULL;
}

static void* reader(void* _) {
  await(2);
  pthread_mutex_lock(&mutex);
  use(data);
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

int main(void) { run2(writer, reader); }
