// rule: annotations
// claim: accesses in an ignored scope do not
// expect: nothing
#include <deadheat/annotate.h>

#include "../order.h"

int data;

static void* first(void* _) {
  DEADHEAT_IGNORE_BEGIN();
  data = 1;
  DEADHEAT_IGNORE_END();
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  data = 2;
  return NULL;
}

int main(void) { run2(first, second); }
