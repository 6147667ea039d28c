// rule: nothing is evicted
// claim: a write is not forgotten because others, ordered after it, read the same word many times
// expect: race write@a read@c
#include <semaphore.h>

#include "../order.h"

long word;
sem_t written, relayed;

static void* writer(void* _) {
  word = 1;  // @a
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
  use(word);  // @c
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
