// rule: nothing is evicted
// claim: a writer that is ordered after twelve readers of one word does not race
// expect: nothing
#include <semaphore.h>

#include "../order.h"

enum { kReaders = 12 };
long word;
sem_t done;

static void* reader(void* number) {
  int me = (int)(intptr_t)number;
  await(me);
  use(word);
  sem_post(&done);
  step();
  return NULL;
}

static void* writer(void* _) {
  await(kReaders);
  for (int i = 0; i < kReaders; i++) sem_wait(&done);
  word = 1;
  return NULL;
}

int main(void) {
  pthread_t threads[kReaders];
  sem_init(&done, 0, 0);
  for (intptr_t i = 0; i < kReaders; i++) pthread_create(&threads[i], NULL, reader, (void*)i);
  join(start(writer));
  for (int i = 0; i < kReaders; i++) pthread_join(threads[i], NULL);
}
