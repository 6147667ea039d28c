// rule: memory functions
// claim: memmove reads and writes: an overlapping move races with a write in its source
// expect: race write@a any@b
#include <string.h>

#include "../order.h"

char array[1000];
size_t size = 300;

static void* writer(void* _) {
  array[350] = 1;  // @a
  step();
  return NULL;
}

static void* mover(void* _) {
  await(1);
  memmove(array + 100, array + 200, size);  // @b
  return NULL;
}

int main(void) { run2(writer, mover); }
