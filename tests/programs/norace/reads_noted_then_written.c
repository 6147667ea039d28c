// rule: shared reads
// claim: what two threads read again and again may be written by one that knows of the other's last read
// expect: nothing
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

static void* first(void* _) {
  for (int i = 0; i < ROUNDS; ++i) {
    use(sum());
    hand_over();
  }
  step();
  await(2);
  use(data[3]);
  hand_over();
  step();
  return NULL;
}

static void* second(void* _) {
  for (int i = 0; i < ROUNDS; ++i) {
    use(sum());
    hand_over();
  }
  await(1);
  hand_over();
  step();
  await(3);
  hand_over();
  data[3] = 1;
  return NULL;
}

int main(void) { run2(first, second); }
