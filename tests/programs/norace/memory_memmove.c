// rule: memory functions
// claim: memmove outside of what the other thread writes does not
// expect: nothing
#include <string.h>

#include "../order.h"

char array[1000];
size_t size = 300;

static void* writer(void* _) {
  array[600] = 1;
  step();
  return NULL;
}

static void* mover(void* _) {
  await(1);
  memmove(array + 100, array + 200, size);
  return NULL;
}

int main(void) { run2(writer, mover); }
