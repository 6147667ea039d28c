// rule: memory functions
// claim: memcpy does not write before its target
// expect: nothing
#include <string.h>

#include "../order.h"

char from[256], to[256];
size_t size = 100;

static void* copier(void* _) {
  memcpy(to + 50, from, size);
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(to[49]);
  return NULL;
}

int main(void) { run2(copier, reader); }
