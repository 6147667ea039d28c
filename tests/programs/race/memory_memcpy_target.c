// rule: memory functions
// claim: memcpy writes its target: a read there races
// expect: race write@a read@b
#include <string.h>

#include "../order.h"

char from[256], to[256];
size_t size = 100;

static void* copier(void* _) {
  memcpy(to + 50, from, size);  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(to[50]);  // @b
  return NULL;
}

int main(void) { run2(copier, reader); }
