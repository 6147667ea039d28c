// rule: the exact filter
// claim: a range that was walked over before a release is looked at again behind it
// expect: race read@a write@b
#include "../order.h"

enum { kCount = 500 };
long table[kCount];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static long sum(void) {
  long result = 0;
  for (int i = 0; i < kCount; i++) result += table[i];  // @a
  return result;
}

static void* reader(void* _) {
  pthread_mutex_lock(&lock);
  use(sum() + sum());
  pthread_mutex_unlock(&lock);
  step();
  await(2);
  use(sum());
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  step();
  await(3);
  table[321] = 1;  // @b
  return NULL;
}

int main(void) { run2(reader, writer); }
