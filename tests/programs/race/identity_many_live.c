// rule: thread identities
// claim: of 200 live readers, the one that was not joined races with the writer
// expect: race read@a write@b
#include "../order.h"

enum { kThreads = 200 };
int data = 1;

static void* reader(void* _) {
  use(data);  // @a
  step();
  await(kThreads);
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; i++) threads[i] = start(reader);
  await(kThreads);
  for (int i = 0; i < kThreads; i++) {
    if (i == 77) continue;
    join(threads[i]);
  }
  data = 2;  // @b
  join(threads[77]);
}
