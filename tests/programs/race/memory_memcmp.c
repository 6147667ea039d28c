// rule: memory functions
// claim: memcmp of equal memory reads all of it
// expect: race write@a read@b
#include <string.h>

#include "../order.h"

char left[64], right[64];
size_t size = 40;

static void* writer(void* _) {
  ((volatile char*)left)[39] = 0;  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(memcmp(left, right, size));  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
