// rule: file descriptors
// claim: buffers of one's own do not
// expect: nothing
#include <unistd.h>

#include "../order.h"

int ends[2];
char buffer[16] = "in use", other[16];

static void* filler(void* _) {
  ((volatile char*)other)[3] = 'x';
  step();
  return NULL;
}

static void* writer(void* _) {
  await(1);
  if (write(ends[1], buffer, sizeof buffer) != sizeof buffer) abort();
  return NULL;
}

int main(void) {
  if (pipe(ends) != 0) abort();
  run2(filler, writer);
}
