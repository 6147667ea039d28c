// rule: nothing is evicted
// claim: a late reader that is ordered through one of the readers does not race
// expect: nothing
#include <semaphore.h>

#include "../order.h"

long word;
sem_t written, relayed;

static void* writer(void* _) {
  word = 1;
  for (int i = 0; i < 8; i++) sem_post(&written);
  step();
  return NULL;
}

static void* reader(void* _) {
  sem_wait(&written);
  for (int i = 0; i < 100; i++) use(word);
  sem_post(&relayed);
  step();
  return NULL;
}

static void* late(void* _) {
  await(9);
  sem_wait(&relayed);
  use(word);
  return NULL;
}

int main(void) {
  pthread_t readers[8];
  sem_init(&written, 0, 0);
  sem_init(&relayed, 0, 0);
  pthread_t w = start(writer);
  for (int i = 0; i < 8; i++) readers[i] = start(reader);
  join(start(late));
  for (int i = 0; i < 8; i++) join(readers[i]);
  join(w);
}
