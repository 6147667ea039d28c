// rule: nothing is evicted
// claim: bytes that two threads read at once, at several places and between many releases: the one read that the writer does not know of is found
// expect: race read@last write@other
#include "../order.h"

enum { kRounds = 3000, kBytes = 512 };
_Alignas(8) volatile unsigned char table[kBytes];
int progress;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void tell(void) {
  pthread_mutex_lock(&mutex);
  progress++;
  pthread_mutex_unlock(&mutex);
}

static void look(unsigned from) {
  unsigned at = from;
  for (int i = 0; i < kRounds; i++) {
    at = at * 1664525u + 1013904223u;
    use(table[at >> 8 & (kBytes - 1)]);
    use(table[at >> 17 & (kBytes - 1)]);
    if (i % 3 == 0) use(*(volatile uint16_t*)&table[at >> 12 & (kBytes - 2)]);
    if (i % 8 == 0) tell();
  }
  tell();
}

static void* reader(void* _) {
  look(1);
  use(table[0]);  // @last
  step();
  return NULL;
}

static void* writer(void* _) {
  look(2);
  await(1);
  pthread_mutex_lock(&mutex);
  use(progress);
  pthread_mutex_unlock(&mutex);
  table[0] = 1;  // @other
  return NULL;
}

int main(void) { run2(reader, writer); }
