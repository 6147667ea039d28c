// rule: suppressions
// claim: a suppression of another function hides nothing
// suppressions: race:some_other_function
// expect: race write@a write@a
#include "../order.h"

int data;

__attribute__((noinline)) void known_benign(void) {
  data = 1;  // @a
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
