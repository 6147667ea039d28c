// rule: allocation
// claim: a block that reuses the address of a freed one does not race with the old block's accesses
// expect: nothing
#include "../order.h"

long* block;

static void* worker(void* number) {
  for (int i = 0; i < 100; i++) {
    long* mine = malloc(48);
    for (int j = 0; j < 6; j++) mine[j] = j;
    free(mine);
  }
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, worker, NULL);
  pthread_create(&b, NULL, worker, (void*)1);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
}
