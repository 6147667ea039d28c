// rule: what everybody knows
// claim: a third thread that is created by one who knows knows as well
// expect: nothing
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* told(void* _) {
  use(data);
  return NULL;
}

static void* writer(void* _) {
  pthread_mutex_lock(&mutex);
  data = 1;
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
  join(start(told));
  return NULL;
}

int main(void) { run2(writer, reader); }
