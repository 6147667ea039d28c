// rule: allocation
// claim: two threads may fill in two halves of one calloc'ed block
// expect: nothing
#include "../order.h"

struct Half {
  long values[4];
}* halves;

static void* first(void* _) {
  halves[0].values[2] = 1;
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  halves[1].values[2] = 2;
  return NULL;
}

int main(void) {
  halves = calloc(2, sizeof *halves);
  run2(first, second);
  free(halves);
}
