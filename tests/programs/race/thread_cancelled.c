// rule: threads
// claim: a cancelled thread's clean-up handler races with who did not join it
// expect: race write@a read@b
#include <unistd.h>

#include "../order.h"

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void clean_up(void* _) {
  data = 1;  // @a
  pthread_mutex_unlock(&mutex);
  step();
}

static void* body(void* _) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(clean_up, NULL);
  step();
  for (;;) pause();
  pthread_cleanup_pop(0);
  return NULL;
}

int main(void) {
  pthread_t t = start(body);
  await(1);
  pthread_cancel(t);
  await(2);
  use(data);  // @b
  join(t);
}
