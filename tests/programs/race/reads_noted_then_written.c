// rule: shared reads
// claim: of what two threads read again and again, the last read of each is remembered, with its place
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

static void* first(void* _) {
  for (int i = 0; i < ROUNDS; ++i) {
    use(sum());
    hand_over();
  }
  step();
  await(2);
  use(data[3]);  // @a
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
  data[3] = 1;  // @b
  return NULL;
}

int main(void) { run2(first, second); }
