// rule: barriers
// claim: a barrier used for many rounds with changing writers is correct
// expect: nothing
#include "../order.h"

enum { kThreads = 3, kRounds = 100 };
int cell;
pthread_barrier_t barrier;

static void* body(void* number) {
  int me = (int)(intptr_t)number;
  for (int round = 0; round < kRounds; round++) {
    if (round % kThreads == me) cell = round;
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
