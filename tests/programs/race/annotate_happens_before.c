// rule: annotations
// claim: an annotation of another object orders nothing
// expect: race write@a read@b
#include <deadheat/annotate.h>

#include "../order.h"

int data;
char token, other;

static void* writer(void* _) {
  data = 1;  // @a
  DEADHEAT_HAPPENS_BEFORE(&other);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  DEADHEAT_HAPPENS_AFTER(&token);
  use(data);  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
