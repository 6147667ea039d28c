// rule: condition variables
// claim: who sleeps in a wait will know what the mutex tells it: what was written before the mutex was released is
//        ordered, and may be forgotten
// expect: nothing
#include "../order.h"

int data, posted;
long table[4096];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void* sleeper(void* _) {
  pthread_mutex_lock(&mutex);
  step();
  while (!posted) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  use(data);
  return NULL;
}

// Both fill their halves of a table again and again, and tell each other: what can be forgotten is looked for.
static void busy(int half) {
  for (int round = 0; round < 20; ++round) {
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
    for (int i = 0; i < 2048; ++i) table[half * 2048 + i] = round + i;
  }
}

static void* poster(void* _) {
  await(1);
  data = 1;
  pthread_mutex_lock(&mutex);
  posted = 1;
  pthread_mutex_unlock(&mutex);
  step();
  busy(0);
  pthread_cond_signal(&condition);
  return NULL;
}

static void* bystander(void* _) {
  await(2);
  busy(1);
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  void* (*const bodies[3])(void*) = {sleeper, poster, bystander};
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, bodies[i], NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
}
