// rule: dominated accesses
// claim: a call of a function that releases separates two accesses
// expect: race write@a read@b
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
  data = 2;  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  deeper(0);
  use(data);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
