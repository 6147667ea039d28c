// rule: annotations
// claim: a variable whose races are declared benign is not reported
// expect: nothing
#include <deadheat/annotate.h>

#include "../order.h"

int statistic, data;

static void* first(void* _) {
  statistic = 1;
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  statistic = 2;
  return NULL;
}

int main(void) {
  DEADHEAT_BENIGN_RACE(statistic, "a statistic");
  run2(first, second);
}
