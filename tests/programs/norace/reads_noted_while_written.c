// rule: shared reads
// claim: writes amidst many reads by two threads, each under the lock, are ordered with all of them
// expect: nothing
#include "../order.h"

enum { ROUNDS = 20000 };
long data[8];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* both(void* writer) {
  long all = 0;
  for (int i = 0; i < ROUNDS; ++i) {
    pthread_mutex_lock(&mutex);
    for (int j = 0; j < 8; ++j) all += *(volatile long*)&data[j];
    if (i % 64 == 0 && writer != NULL) data[i / 64 % 8] = i;
    pthread_mutex_unlock(&mutex);
  }
  use(all);
  return NULL;
}

int main(void) {
  pthread_t one, other;
  pthread_create(&one, NULL, both, NULL);
  pthread_create(&other, NULL, both, &other);
  pthread_join(one, NULL);
  pthread_join(other, NULL);
}
