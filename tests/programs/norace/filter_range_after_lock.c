// rule: the exact filter
// claim: a range may be walked over by both threads in turn, each time under the lock
// expect: nothing
#include "../order.h"

enum { kCount = 500 };
long table[kCount];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static long sum(void) {
  long result = 0;
  for (int i = 0; i < kCount; i++) result += table[i];
  return result;
}

static void* worker(void* _) {
  for (int i = 0; i < 50; i++) {
    pthread_mutex_lock(&lock);
    use(sum() + sum());
    table[i] = i;
    use(sum());
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

int main(void) { run2(worker, worker); }
