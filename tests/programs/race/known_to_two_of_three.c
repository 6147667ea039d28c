// rule: what everybody knows
// claim: what two threads know of each other may still race with a third one that they never told
// expect: race write@a read@b
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* writer(void* _) {
  pthread_mutex_lock(&mutex);
  data = 1;  // @a
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  for (int i = 0; i < 10000; i++) {
    pthread_mutex_lock(&mutex);
    use(data);
    pthread_mutex_unlock(&mutex);
  }
  step();
  return NULL;
}

static void* untold(void* _) {
  await(2);
  use(data);  // @b
  return NULL;
}

int main(void) {
  pthread_t const third = start(untold);
  run2(writer, reader);
  join(third);
}
