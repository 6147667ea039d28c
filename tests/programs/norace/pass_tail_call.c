// rule: code shapes
// claim: tail calls under a lock keep the order
// expect: nothing
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static int last(int value) {
  data = value;
  return value;
}

__attribute__((noinline)) static int middle(int value) { return last(value + 1); }

static void* writer(void* _) {
  pthread_mutex_lock(&mutex);
  use(middle(3));
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  use(data);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) { run2(writer, reader); }
