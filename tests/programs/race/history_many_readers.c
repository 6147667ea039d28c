// rule: nothing is evicted
// claim: of twelve readers of one word, the one that is not ordered with the writer is found, though it was the third
// expect: race read@a write@b
#include <semaphore.h>

#include "../order.h"

enum { kReaders = 12 };
long word;
sem_t done;

static void* reader(void* number) {
  int me = (int)(intptr_t)number;
  await(me);
  use(word);  // @a
  if (me != 2) sem_post(&done);
  step();
  return NULL;
}

static void* writer(void* _) {
  await(kReaders);
  for (int i = 0; i < kReaders - 1; i++) sem_wait(&done);
  word = 1;  // @b
  return NULL;
}

int main(void) {
  pthread_t threads[kReaders];
  sem_init(&done, 0, 0);
  for (intptr_t i = 0; i < kReaders; i++) pthread_create(&threads[i], NULL, reader, (void*)i);
  join(start(writer));
  for (int i = 0; i < kReaders; i++) pthread_join(threads[i], NULL);
}
