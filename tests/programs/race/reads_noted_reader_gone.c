// rule: shared reads
// claim: the last read of a thread that has ended and that nobody waited for is still remembered
// expect: race read@a write@b
#include "../order.h"

enum { ROUNDS = 300 };
long data[8];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// Each takes up what the other one released: with each round comes a new label.
static void hand_over(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

static long sum(void) {
  long all = 0;
  for (int i = 0; i < 8; ++i) all += *(volatile long*)&data[i];
  return all;
}

static void* reader(void* last) {
  for (int i = 0; i < ROUNDS; ++i) {
    use(sum());
    hand_over();
  }
  if (last != NULL) {
    step();
    await(2);
    use(data[5]);  // @a
    step();
  }
  return NULL;
}

int main(void) {
  pthread_t one, other;
  pthread_create(&one, NULL, reader, NULL);
  pthread_create(&other, NULL, reader, &other);
  pthread_join(one, NULL);
  await(1);
  hand_over();
  step();
  pthread_detach(other);
  await(3);
  doze(100000);  // until it has ended
  data[5] = 1;  // @b
}
