// rule: nothing is evicted
// claim: what one thread wrote byte by byte, at three places and between many releases, is known to who has heard of the last one
// expect: nothing
#include "../order.h"

enum { kRounds = 40 };
_Alignas(8) volatile unsigned char word[8];
int progress;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* worker(void* _) {
  for (int i = 0; i < kRounds; i++) {
    await(2 * i);
    if (i % 3 == 0) word[i % 8] = 1;
    if (i % 3 == 1) word[i % 8] = 2;
    if (i % 3 == 2) word[i % 8] = 3;
    use(*(volatile uint64_t*)word);
    pthread_mutex_lock(&mutex);
    progress = i;
    pthread_mutex_unlock(&mutex);
    step();
  }
  word[3] = 4;
  pthread_mutex_lock(&mutex);
  progress = kRounds;
  pthread_mutex_unlock(&mutex);
  step();
  return NULL;
}

static void* observer(void* _) {
  for (int i = 0; i < kRounds; i++) {
    await(2 * i + 1);
    pthread_mutex_lock(&mutex);
    use(progress);
    pthread_mutex_unlock(&mutex);
    step();
  }
  await(2 * kRounds + 1);
  pthread_mutex_lock(&mutex);
  use(progress);
  pthread_mutex_unlock(&mutex);
  use(*(volatile uint64_t*)word);
  return NULL;
}

int main(void) { run2(worker, observer); }
