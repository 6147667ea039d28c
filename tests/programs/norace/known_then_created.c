// rule: what everybody knows
// claim: a thread that is created while two others pass data back and forth knows what came before
// expect: nothing
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* told(void* _) {
  await(2);
  use(data);
  return NULL;
}

static void* writer(void* _) {
  pthread_mutex_lock(&mutex);
  data = 1;
  pthread_mutex_unlock(&mutex);
  pthread_t const third = start(told);
  step();
  join(third);
  return NULL;
}

static void* reader(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  use(data);
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

int main(void) { run2(writer, reader); }
