// rule: allocation
// claim: two threads that fill in one calloc'ed block race
// expect: race write@a write@b
#include "../order.h"

struct Half {
  long values[4];
}* halves;

static void* first(void* _) {
  halves[0].values[2] = 1;  // @a
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  halves[0].values[2] = 2;  // @b
  return NULL;
}

int main(void) {
  halves = calloc(2, sizeof *halves);
  run2(first, second);
  free(halves);
}
