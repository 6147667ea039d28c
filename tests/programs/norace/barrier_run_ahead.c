// rule: barriers
// claim: what was written before the round that both have left is ordered
// expect: nothing
#include "../stall.h"

// The slow thread is held still inside its first pthread_barrier_wait until the fast one has left that round, written,
// and arrived for the next.
int data;
pthread_barrier_t barrier;

static void* fast(void* _) {
  await(2);  // the slow one is stalled inside its wait
  data = 1;
  pthread_barrier_wait(&barrier);
  step();
  pthread_barrier_wait(&barrier);
  return NULL;
}

static void* slow(void* _) {
  stall_me_later();
  step();
  pthread_barrier_wait(&barrier);
  use(data);
  pthread_barrier_wait(&barrier);
  return NULL;
}

int main(void) {
  stall_prepare(4);
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_t f = start(fast), s = start(slow);
  await(1);
  doze(100000);  // into its wait
  stall();
  await(3);
  doze(100000);  // the fast one into its second wait
  step();
  join(f);
  join(s);
}
