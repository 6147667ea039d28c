// rule: the exact filter
// claim: an array of a function's second call may be given to a thread that is joined before it ends
// expect: nothing
#include "../order.h"

enum { kCount = 300 };
long* shared;

__attribute__((noinline)) static void fill(long* block) {
  for (int i = 0; i < kCount; i++) block[i] = i;
}

static void* other(void* _) {
  fill(shared);
  return NULL;
}

__attribute__((noinline)) static void call(int give) {
  long local[kCount];
  fill(local);
  fill(local);
  shared = local;
  if (give) join(start(other));
  use(local[7]);
}

static void* owner(void* _) {
  for (int i = 0; i < 20; i++) call(i % 2);
  return NULL;
}

int main(void) {
  pthread_t const t = start(owner);
  join(t);
}
