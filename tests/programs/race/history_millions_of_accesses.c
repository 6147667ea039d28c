// rule: nothing is evicted
// claim: a race with an access that happened millions of accesses ago is found
// expect: race write@a read@b
#include "../order.h"

enum { kCells = 1 << 20 };
int data;
long filler[kCells];

static void* writer(void* _) {
  data = 1;  // @a
  step();
  await(2);
  return NULL;
}

int main(void) {
  pthread_t t = start(writer);
  await(1);
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < kCells; i++) filler[(i * 7919u) % kCells] += i;
  use(data);  // @b
  step();
  join(t);
}
