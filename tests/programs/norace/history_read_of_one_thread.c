// rule: nothing is evicted
// claim: a table of small numbers that one thread keeps may be written by who knows of the last read
// expect: nothing
#include "../order.h"

enum { kRounds = 40 };
_Alignas(8) volatile uint32_t table[2];
int progress;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* worker(void* _) {
  for (int i = 0; i < kRounds; i++) {
    await(2 * i);
    table[i % 2] = 1;
    use(table[0]);
    if (i % 3 == 0) table[i / 3 % 2] = 2;
    if (i > kRounds / 2) use(((volatile unsigned char*)table)[i % 8]);  // narrower
    pthread_mutex_lock(&mutex);
    progress = i;
    pthread_mutex_unlock(&mutex);
    step();
  }
  use(table[1]);
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
  table[0] = 5;
  table[1] = 5;
  return NULL;
}

int main(void) { run2(worker, observer); }
