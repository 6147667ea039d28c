// rule: thread identities
// claim: threads that follow each other on one stack keep their own histories
// expect: race write@a write@b
#include "../order.h"

int data;

__attribute__((noinline)) static void write_first(void) {
  data = 1;  // @a
}

__attribute__((noinline)) static void write_second(void) {
  data = 2;  // @b
}

static void* body(void* number) {
  int local[16];
  for (int i = 0; i < 16; i++) local[i] = i;
  __asm__ volatile("" : : "r"(local) : "memory");  // it escapes
  use(local[3]);
  if (number == (void*)1) write_first();
  if (number == (void*)2) write_second();
  step();
  return NULL;
}

int main(void) {
  for (intptr_t i = 0; i < 8; i++) {
    pthread_t t;
    pthread_create(&t, NULL, body, (void*)i);
    if (i == 1) {
      pthread_detach(t);
      await(2);
      doze(20000);  // its stack may be reused now
      continue;
    }
    pthread_join(t, NULL);
  }
}
