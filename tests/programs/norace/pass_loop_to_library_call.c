// rule: loops
// claim: a loop that the compiler turns into memset or memcpy touches no byte more
// expect: nothing
#include "../order.h"

char zeroed[512], from[512], to[512];
int size = 300;

static void* looper(void* _) {
  for (int i = 0; i < size; i++) zeroed[i] = 0;
  for (int i = 0; i < size; i++) to[i] = from[i];
  step();
  return NULL;
}

static void* other(void* _) {
  await(1);
  use(zeroed[300]);
  from[300] = 1;
  return NULL;
}

int main(void) { run2(looper, other); }
