// rule: loops
// claim: a loop that runs backwards touches its lowest element
// expect: race write@a read@b
#include "../order.h"

int array[100];
int low = 10;

static void* walker(void* _) {
  for (int i = 99; i >= low; i--) array[i] = i * 3;  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(array[10]);  // @b
  return NULL;
}

int main(void) { run2(walker, reader); }
