// rule: annotations
// claim: a benign race that is declared for one variable does not hide another's
// expect: race write@a write@b
#include <deadheat/annotate.h>

#include "../order.h"

int statistic, data;

static void* first(void* _) {
  statistic = 1;
  data = 1;  // @a
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  statistic = 2;
  data = 2;  // @b
  return NULL;
}

int main(void) {
  DEADHEAT_BENIGN_RACE(statistic, "a statistic");
  run2(first, second);
}
