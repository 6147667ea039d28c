// rule: allocation
// claim: a block that nobody touched before it was freed has no past when it is given out again, to whomever
// expect: nothing
#include "../order.h"

static void* owner(void* _) {
  for (int i = 0; i < 20; ++i) free(malloc(6000));
  // Parts of it, some of them used.
  for (int i = 0; i < 20; ++i) {
    volatile char* const part = malloc(300);
    part[299] = 1;
    free((void*)part);
  }
  step();
  return NULL;
}

int main(void) {
  void* const block = malloc(6000);
  pthread_t t = start(owner);
  await(1);
  free(block);
  for (int i = 0; i < 20; ++i) {
    volatile char* const again = malloc(6000 - i);
    for (int at = 0; at < 5900; at += 7) again[at] = 1;
    free((void*)again);
  }
  join(t);
}
