// rule: stacks
// claim: two threads one after the other on a stack that the program provided do not race
// expect: nothing
// flags: -D_GNU_SOURCE
#include "../order.h"

_Alignas(4096) static char stack[1 << 18];

static void* body(void* _) {
  volatile int local[64];
  for (int i = 0; i < 64; i++) local[i] = i;
  use(local[5]);
  return NULL;
}

int main(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, sizeof stack);
  pthread_t t;
  for (int i = 0; i < 3; i++) {
    pthread_create(&t, &attributes, body, NULL);
    pthread_join(t, NULL);
  }
}
