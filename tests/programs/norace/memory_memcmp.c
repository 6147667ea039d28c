// rule: memory functions
// claim: memcmp does not read beyond its size
// expect: nothing
#include <string.h>

#include "../order.h"

char left[64], right[64];
size_t size = 40;

static void* writer(void* _) {
  ((volatile char*)left)[40] = 0;
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use(memcmp(left, right, size));
  return NULL;
}

int main(void) { run2(writer, reader); }
