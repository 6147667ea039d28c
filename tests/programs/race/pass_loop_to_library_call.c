// rule: loops
// claim: a loop that the compiler turns into memset or memcpy still races on its last byte
// expect: race write@a read@b
// expect: race read@c write@d
#include "../order.h"

char zeroed[512], from[512], to[512];
int size = 300;

static void* looper(void* _) {
  for (int i = 0; i < size; i++) zeroed[i] = 0;  // @a
  for (int i = 0; i < size; i++) to[i] = from[i];  // @c
  step();
  return NULL;
}

static void* other(void* _) {
  await(1);
  use(zeroed[299]);  // @b
  from[299] = 1;     // @d
  return NULL;
}

int main(void) { run2(looper, other); }
