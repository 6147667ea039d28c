// rule: the exact filter
// claim: a read is covered by an earlier write, and reads do not race
// expect: nothing
#include "../order.h"

int data;

static void* first(void* _) {
  use(data);
  use(data);
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  use(data);
  return NULL;
}

int main(void) { run2(first, second); }
