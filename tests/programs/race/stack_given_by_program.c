// rule: stacks
// claim: a thread's local on a stack that the program provided races when it escapes
// flags: -D_GNU_SOURCE
// expect: race write@a read@b
// allow: race free@e read@b
#include "../order.h"

_Alignas(4096) static char stack[1 << 18];
volatile int* escaped;

static void* body(void* _) {
  volatile int local[64];
  for (int i = 0; i < 64; i++) local[i] = i;  // @a
  escaped = local;
  step();
  await(2);
  use(local[5]);
  return NULL;  // @e
}  // @e

int main(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, sizeof stack);
  pthread_t t;
  pthread_create(&t, &attributes, body, NULL);
  await(1);
  volatile int* theirs;
  __asm__ volatile("movq %1, %0" : "=r"(theirs) : "m"(escaped));
  use(theirs[5]);  // @b
  step();
  pthread_join(t, NULL);
}
