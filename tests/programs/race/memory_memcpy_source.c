// rule: memory functions
// claim: memcpy reads its source: a write there races
// expect: race write@a read@b
#include <string.h>

#include "../order.h"

char from[256], to[256];
size_t size = 100;

static void* writer(void* _) {
  from[99] = 1;  // @a
  step();
  return NULL;
}

static void* copier(void* _) {
  await(1);
  memcpy(to, from, size);  // @b
  return NULL;
}

int main(void) { run2(writer, copier); }
