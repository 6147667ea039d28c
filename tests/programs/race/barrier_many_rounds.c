// rule: barriers
// claim: in the hundredth round too, the wrong thread's access races
// expect: race write@a read@b
#include "../order.h"

enum { kThreads = 3, kRounds = 100 };
int cell;
pthread_barrier_t barrier;

static void* body(void* number) {
  int me = (int)(intptr_t)number;
  for (int round = 0; round < kRounds; round++) {
    if (round % kThreads == me) cell = round;  // @a
    if (round == kRounds - 1 && me == 1) use(cell);  // @b
    pthread_barrier_wait(&barrier);
    use(cell);
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  pthread_barrier_init(&barrier, NULL, kThreads);
  for (intptr_t i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, body, (void*)i);
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
}
