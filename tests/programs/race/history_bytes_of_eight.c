// rule: nothing is evicted
// claim: of eight writers of the bytes of one word, the one that is not ordered with the reader of all eight is found
// expect: race write@a read@b
#include <semaphore.h>

#include "../order.h"

_Alignas(8) char word[8];
sem_t done;

static void* writer(void* number) {
  int me = (int)(intptr_t)number;
  await(me);
  word[me] = 1;  // @a
  if (me != 0) sem_post(&done);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(8);
  for (int i = 0; i < 7; i++) sem_wait(&done);
  use(*(long*)word);  // @b
  return NULL;
}

int main(void) {
  pthread_t threads[8];
  sem_init(&done, 0, 0);
  for (intptr_t i = 0; i < 8; i++) pthread_create(&threads[i], NULL, writer, (void*)i);
  join(start(reader));
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
}
