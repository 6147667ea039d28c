// rule: the exact filter
// claim: of three threads that read alike, the third counts, though the first two were joined
// expect: race read@a write@b
#include "../order.h"

int data;

static void* reader(void* _) {
  use(data);  // @a
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
  data = 1;  // @b
  join(threads[2]);
}
