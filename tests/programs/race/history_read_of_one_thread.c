// rule: nothing is evicted
// claim: of a table of small numbers that one thread keeps, the one read that the writer does not know of is found, whatever was read and written there before
// expect: race read@unknown write@other
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
  use(table[1]);  // @unknown
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
  table[0] = 5;
  table[1] = 5;  // @other
  return NULL;
}

int main(void) { run2(worker, observer); }
