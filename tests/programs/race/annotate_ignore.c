// rule: annotations
// claim: after the end of an ignored scope accesses count again
// expect: race write@a write@b
#include <deadheat/annotate.h>

#include "../order.h"

int data;

static void* first(void* _) {
  DEADHEAT_IGNORE_BEGIN();
  DEADHEAT_IGNORE_END();
  data = 1;  // @a
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  data = 2;  // @b
  return NULL;
}

int main(void) { run2(first, second); }
