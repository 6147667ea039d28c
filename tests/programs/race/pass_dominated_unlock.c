// rule: dominated accesses
// claim: of two writes with an unlock between them, the second is not covered by the first
// expect: race write@a read@b
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* writer(void* _) {
  pthread_mutex_lock(&mutex);
  data = 1;
  pthread_mutex_unlock(&mutex);
  data = 2;  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  pthread_mutex_lock(&mutex);
  use(data);  // @b
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) { run2(writer, reader); }
