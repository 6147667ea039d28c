// rule: the exact filter
// claim: a release by an atomic store that follows a lock taken back ends the span, too
// expect: race write@after read@reader
#include <stdatomic.h>

#include "../order.h"

enum { kRounds = 50 };
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
_Alignas(64) atomic_int flag;
_Alignas(64) volatile long slots[kRounds];
_Alignas(64) volatile long guarded;

static void* writer(void* _) {
  for (int i = 0; i < kRounds; i++) {
    pthread_mutex_lock(&mutex);
    guarded = i;
    pthread_mutex_unlock(&mutex);
    slots[i] = 1;
    pthread_mutex_lock(&mutex);  // nobody else had it: what was released is taken back
    atomic_store_explicit(&flag, i, memory_order_release);
    slots[i] = 2;  // @after
    pthread_mutex_unlock(&mutex);
  }
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  int const last = atomic_load_explicit(&flag, memory_order_acquire);
  use(slots[last]);  // @reader
  return NULL;
}

int main(void) { run2(writer, reader); }
