// rule: the exact filter
// claim: three threads that read alike, all joined
// expect: nothing
#include "../order.h"

int data;

static void* reader(void* _) {
  use(data);
  step();
  await(4);
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) {
    threads[i] = start(reader);
    await(i + 1);
  }
  step();
  join(threads[0]);
  join(threads[1]);
  join(threads[2]);
  data = 1;
}
