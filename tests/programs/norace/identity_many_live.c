// rule: thread identities
// claim: a writer that joined 200 readers does not race
// expect: nothing
#include "../order.h"

enum { kThreads = 200 };
int data = 1;

static void* reader(void* _) {
  use(data);
  step();
  await(kThreads);
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; i++) threads[i] = start(reader);
  await(kThreads);
  for (int i = 0; i < kThreads; i++) {
    join(threads[i]);
  }
  data = 2;
}
