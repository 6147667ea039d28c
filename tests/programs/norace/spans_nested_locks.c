// rule: the exact filter
// claim: taking the outer one orders all
// expect: nothing
#include "../order.h"

int data;
pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;

static void* writer(void* _) {
  pthread_mutex_lock(&outer);
  pthread_mutex_lock(&inner);
  data = 1;
  pthread_mutex_unlock(&inner);
  data = 2;
  pthread_mutex_unlock(&outer);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  pthread_mutex_lock(&outer);
  use(data);
  pthread_mutex_unlock(&outer);
  return NULL;
}

int main(void) { run2(writer, reader); }
