// rule: nothing is evicted
// claim: a reader of all eight bytes, ordered after all eight writers, does not race
// expect: nothing
#include <semaphore.h>

#include "../order.h"

_Alignas(8) char word[8];
sem_t done;

static void* writer(void* number) {
  int me = (int)(intptr_t)number;
  await(me);
  word[me] = 1;
  sem_post(&done);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(8);
  for (int i = 0; i < 8; i++) sem_wait(&done);
  use(*(long*)word);
  return NULL;
}

int main(void) {
  pthread_t threads[8];
  sem_init(&done, 0, 0);
  for (intptr_t i = 0; i < 8; i++) pthread_create(&threads[i], NULL, writer, (void*)i);
  join(start(reader));
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
}
