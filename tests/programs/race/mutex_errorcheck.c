// rule: mutexes
// claim: an unlock that fails, because the mutex is not one's own, orders nothing
// flags: -D_GNU_SOURCE
// expect: race write@a read@b
#include <errno.h>

#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

static void* writer(void* _) {
  data = 1;  // @a
  if (pthread_mutex_unlock(&mutex) != EPERM) abort();
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  if (pthread_mutex_lock(&mutex) != 0) abort();
  use(data);  // @b
  if (pthread_mutex_unlock(&mutex) != 0) abort();
  return NULL;
}

int main(void) { run2(writer, reader); }
