// rule: mutexes
// claim: a lock that one thread takes again and again orders nothing after its last unlock
// expect: race write@a read@b
#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* writer(void* _) {
  for (int i = 0; i < 4; ++i) {
    pthread_mutex_lock(&mutex);
    data = i;
    pthread_mutex_unlock(&mutex);
  }
  data = 4;  // @a
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
