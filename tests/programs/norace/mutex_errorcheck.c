// rule: mutexes
// claim: an error-checking mutex orders, and a second lock that fails does no harm
// expect: nothing
// flags: -D_GNU_SOURCE
#include <errno.h>

#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

static void* writer(void* _) {
  if (pthread_mutex_lock(&mutex) != 0) abort();
  if (pthread_mutex_lock(&mutex) != EDEADLK) abort();
  data = 1;
  if (pthread_mutex_unlock(&mutex) != 0) abort();
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  if (pthread_mutex_lock(&mutex) != 0) abort();
  use(data);
  if (pthread_mutex_unlock(&mutex) != 0) abort();
  return NULL;
}

int main(void) { run2(writer, reader); }
