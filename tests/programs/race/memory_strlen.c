// rule: memory functions
// claim: strlen reads up to the terminator, the terminator included
// expect: race write@a read@b
#include <string.h>

#include "../order.h"

char text[64] = "nothing orders these";

static void* writer(void* _) {
  *(volatile char*)&text[20] = 0;  // @a
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use((long)strlen(text));  // @b
  return NULL;
}

int main(void) { run2(writer, reader); }
