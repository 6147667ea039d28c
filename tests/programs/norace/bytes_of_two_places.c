// rule: bytes
// claim: one access that covers what was written at two places, after both
// expect: nothing
#include "../order.h"

_Alignas(8) volatile unsigned char bytes[8];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* parts(void* _) {
  pthread_mutex_lock(&lock);
  bytes[1] = 1;
  bytes[6] = 1;
  pthread_mutex_unlock(&lock);
  step();
  return NULL;
}

static void* whole(void* _) {
  await(1);
  pthread_mutex_lock(&lock);
  *(volatile uint64_t*)bytes = 0;
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) { run2(parts, whole); }
