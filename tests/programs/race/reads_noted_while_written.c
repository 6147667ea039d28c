// rule: shared reads
// claim: a write amidst many reads by two threads meets those that it is not ordered with
// expect: race read@a write@b
#include "../order.h"

enum { ROUNDS = 20000 };
long data[8];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_barrier_t barrier;

static void* both(void* writer) {
  long all = 0;
  for (int i = 0; i < ROUNDS; ++i) {
    pthread_mutex_lock(&mutex);
    for (int j = 0; j < 8; ++j) all += *(volatile long*)&data[j];
    if (i % 64 == 0 && writer != NULL) data[i / 64 % 8] = i;
    pthread_mutex_unlock(&mutex);
  }
  pthread_barrier_wait(&barrier);
  if (writer != NULL)
    data[0] = 1;  // @b
  else
    use(data[0]);  // @a
  use(all);
  return NULL;
}

int main(void) {
  pthread_t one, other;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&one, NULL, both, NULL);
  pthread_create(&other, NULL, both, &other);
  pthread_join(one, NULL);
  pthread_join(other, NULL);
}
