// rule: suppressions
// claim: a race in a suppressed function is not reported
// expect: nothing
// suppressions: race:known_benign
#include "../order.h"

int data;

__attribute__((noinline)) void known_benign(void) {
  data = 1;
}

static void* first(void* _) {
  known_benign();
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  known_benign();
  return NULL;
}

int main(void) { run2(first, second); }
