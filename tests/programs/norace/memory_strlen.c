// rule: memory functions
// claim: strlen does not read beyond the terminator
// expect: nothing
#include <string.h>

#include "../order.h"

char text[64] = "nothing orders these";

static void* writer(void* _) {
  *(volatile char*)&text[21] = 1;
  step();
  return NULL;
}

static void* reader(void* _) {
  await(1);
  use((long)strlen(text));
  return NULL;
}

int main(void) { run2(writer, reader); }
