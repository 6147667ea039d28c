// rule: annotations
// claim: a hand-made lock, annotated, orders
// expect: nothing
#include <deadheat/annotate.h>

#include "../order.h"

int data, lock;
#define TAKE DEADHEAT_LOCK_ACQUIRED(&lock)
#define GIVE DEADHEAT_LOCK_RELEASING(&lock)

static void* first(void* _) {
  TAKE;
  data = 1;
  GIVE;
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  TAKE;
  data = 2;
  GIVE;
  return NULL;
}

int main(void) { run2(first, second); }
