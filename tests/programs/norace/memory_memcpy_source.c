// rule: memory functions
// claim: memcpy does not read beyond its size
// expect: nothing
#include <string.h>

#include "../order.h"

char from[256], to[256];
size_t size = 100;

static void* writer(void* _) {
  from[100] = 1;
  step();
  return NULL;
}

static void* copier(void* _) {
  await(1);
  memcpy(to, from, size);
  return NULL;
}

int main(void) { run2(writer, copier); }
