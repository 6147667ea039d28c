// rule: the exact filter
// claim: order passes through a third thread and another lock
// expect: nothing
#include "../order.h"

int data;
pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;

static void* writer(void* _) {
  data = 1;
  pthread_mutex_lock(&one);
  pthread_mutex_unlock(&one);
  step();
  await(2);
  step();
  return NULL;
}

static void* relay(void* _) {
  await(1);
  pthread_mutex_lock(&one);
  pthread_mutex_unlock(&one);
  pthread_mutex_lock(&two);
  pthread_mutex_unlock(&two);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(3);
  pthread_mutex_lock(&two);
  pthread_mutex_unlock(&two);
  use(data);
  return NULL;
}

int main(void) { run3(writer, relay, reader); }
