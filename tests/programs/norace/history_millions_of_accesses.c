// rule: nothing is evicted
// claim: millions of accesses after a join cause no report
// expect: nothing
#include "../order.h"

enum { kCells = 1 << 20 };
int data;
long filler[kCells];

static void* writer(void* _) {
  data = 1;
  step();
  await(2);
  return NULL;
}

int main(void) {
  pthread_t t = start(writer);
  await(1);
  step();
  join(t);
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < kCells; i++) filler[(i * 7919u) % kCells] += i;
  use(data);
}
