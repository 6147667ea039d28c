// rule: file descriptors
// claim: what is written after all streams were flushed, or after one was reopened, is not ordered by what is read
// expect: race write@a read@b
// expect: race write@c read@d
#include <stdio.h>
#include <unistd.h>

#include "../order.h"

long flushed, reopened;
int ends[2];
FILE* out;

static void* sender(void* _) {
  fflush(NULL);
  flushed = 1;  // @a
  step();
  await(2);
  if (freopen("/dev/null", "w", out) == NULL) abort();
  reopened = 1;  // @c
  step();
  return NULL;
}

static void* receiver(void* _) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) abort();
  await(1);
  use(flushed);  // @b
  step();
  if (read(ends[0], &byte, 1) != 0) abort();
  await(3);
  use(reopened);  // @d
  return NULL;
}

int main(void) {
  if (pipe(ends) != 0 || (out = fdopen(ends[1], "w")) == NULL) abort();
  fputc('x', out);  // kept back
  run2(sender, receiver);
}
