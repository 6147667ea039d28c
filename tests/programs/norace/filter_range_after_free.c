// rule: the exact filter
// claim: blocks of two threads that share addresses, one after the other, have nothing in common
// expect: nothing
#include "../order.h"

enum { kCount = 128 };  // as a whole 1 KiB, which the allocator gives out again at once
long* shared;

__attribute__((noinline)) static void fill(long* block) {
  for (int i = 0; i < kCount; i++) block[i] = i;
}
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* worker(void* _) {
  for (int i = 0; i < 50; i++) {
    long* const block = malloc(kCount * sizeof *block);
    fill(block);
    fill(block);
    pthread_mutex_lock(&lock);
    long* const before = shared;
    shared = block;
    pthread_mutex_unlock(&lock);
    if (before != NULL) {
      fill(before);
      free(before);
    }
  }
  return NULL;
}

int main(void) {
  run2(worker, worker);
  free(shared);
}
