// rule: libraries
// claim: the loader's tables of a thread that is gone are freed by whichever thread ends later, under its own locks
// expect: nothing
#include "../order.h"

static void* brief(void* _) {
  step();
  return NULL;
}

int main(void) {
  // Stacks this large are not kept for reuse: each ending thread frees what earlier ones left.
  pthread_attr_t large;
  pthread_attr_init(&large);
  pthread_attr_setstacksize(&large, 30 << 20);
  pthread_attr_setdetachstate(&large, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < 30; i++) {
    pthread_t t;
    if (pthread_create(&t, &large, brief, NULL) != 0) abort();
    await(i + 1);
    doze(2000);
  }
}
