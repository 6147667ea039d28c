// rule: thread identities
// claim: locals of threads that follow each other on one stack do not race
// expect: nothing
#include "../order.h"

int data;

static void* body(void* number) {
  int local[16];
  for (int i = 0; i < 16; i++) local[i] = i;
  __asm__ volatile("" : : "r"(local) : "memory");  // it escapes
  use(local[3]);
  step();
  return NULL;
}

int main(void) {
  for (intptr_t i = 0; i < 8; i++) {
    pthread_t t;
    pthread_create(&t, NULL, body, (void*)i);
    pthread_join(t, NULL);
  }
}
