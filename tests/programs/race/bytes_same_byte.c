// rule: bytes
// claim: of eight threads, the two that write the same byte race
// expect: race write@a write@a
#include "../order.h"

_Alignas(8) char word[8];

static void* writer(void* number) {
  int me = (int)(intptr_t)number;
  await(me);
  word[me == 5 ? 2 : me] = 1;  // @a
  step();
  return NULL;
}

int main(void) {
  pthread_t threads[8];
  for (intptr_t i = 0; i < 8; i++) pthread_create(&threads[i], NULL, writer, (void*)i);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
}
