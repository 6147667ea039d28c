// rule: dominated accesses
// claim: two accesses around such a call, both before the last release, are ordered
// expect: nothing
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void deeper(int depth) {
  if (depth > 0) {
    deeper(depth - 1);
    return;
  }
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

static void* writer(void* _) {
  data = 1;
  deeper(3);
  data = 2;
  deeper(3);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  deeper(0);
  use(data);
  return NULL;
}

int main(void) { run2(writer, reader); }
