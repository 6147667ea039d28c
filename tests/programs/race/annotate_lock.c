// rule: annotations
// claim: a hand-made lock, annotated as shared, does not order its holders
// expect: race write@a write@b
#include <deadheat/annotate.h>

#include "../order.h"

int data, lock;
#define TAKE DEADHEAT_LOCK_ACQUIRED_SHARED(&lock)
#define GIVE DEADHEAT_LOCK_RELEASING_SHARED(&lock)

static void* first(void* _) {
  TAKE;
  data = 1;  // @a
  GIVE;
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  TAKE;
  data = 2;  // @b
  GIVE;
  return NULL;
}

int main(void) { run2(first, second); }
