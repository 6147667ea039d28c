// rule: annotations
// claim: DEADHEAT_HAPPENS_BEFORE and DEADHEAT_HAPPENS_AFTER order
// expect: nothing
#include <deadheat/annotate.h>

#include "../order.h"

int data;
char token, other;

static void* writer(void* _) {
  data = 1;
  DEADHEAT_HAPPENS_BEFORE(&token);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  DEADHEAT_HAPPENS_AFTER(&token);
  use(data);
  return NULL;
}

int main(void) { run2(writer, reader); }
