// rule: C11 threads
// claim: C11's mutex, taken on one side only, protects nothing
// expect: race write@a read@b
#include <threads.h>

#include "../order.h"

int data, ready, once_data;
mtx_t mutex;
cnd_t condition;
once_flag flag = ONCE_FLAG_INIT;

static void initialise(void) { once_data = 3; }

static int producer(void* _) {
  call_once(&flag, initialise);
  mtx_lock(&mutex);
  data = 1;  // @a
  ready = 1;
  cnd_signal(&condition);
  mtx_unlock(&mutex);
  step();
  return 0;
}

static int consumer(void* _) {
  call_once(&flag, initialise);
  use(once_data);
  await(1);
  use(data);  // @b
  return 0;
}

int main(void) {
  thrd_t a, b;
  mtx_init(&mutex, mtx_plain);
  cnd_init(&condition);
  thrd_create(&a, producer, NULL);
  thrd_create(&b, consumer, NULL);
  thrd_join(a, NULL);
  thrd_join(b, NULL);
  use(data);
}
