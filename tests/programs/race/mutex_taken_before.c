// rule: mutexes
// claim: a lock taken before the other's unlock orders nothing after it
// expect: race write@a read@b
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* reader(void* _) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  step();
  await(2);
  use(data);  // @b
  return NULL;
}

static void* writer(void* _) {
  await(1);
  data = 1;  // @a
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

int main(void) { run2(reader, writer); }
