// rule: file descriptors
// claim: read(2) writes the buffer, write(2) reads it: a buffer in use races
// expect: race write@a read@b
#include <unistd.h>

#include "../order.h"

int ends[2];
char buffer[16] = "in use", other[16];

static void* filler(void* _) {
  ((volatile char*)buffer)[3] = 'x';  // @a
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  if (write(ends[1], buffer, sizeof buffer) != sizeof buffer) abort();  // @b
  return NULL;
}

int main(void) {
  if (pipe(ends) != 0) abort();
  run2(filler, writer);
}
