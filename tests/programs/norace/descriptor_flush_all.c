// rule: file descriptors
// claim: whoever flushes all streams comes before those who read what was printed, as does the end of a stream that is reopened
// expect: nothing
#include <stdio.h>
#include <unistd.h>

#include "../order.h"

long flushed, reopened;
int ends[2];
FILE* out;

static void* sender(void* _) {
  flushed = 1;
  fflush(NULL);
  reopened = 1;
  if (freopen("/dev/null", "w", out) == NULL) abort();
  step();
  return NULL;
}

static void* receiver(void* _) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) abort();
  flushed = 2;
  if (read(ends[0], &byte, 1) != 0) abort();
  reopened = 2;
  return NULL;
}

int main(void) {
  if (pipe(ends) != 0 || (out = fdopen(ends[1], "w")) == NULL) abort();
  fputc('x', out);  // kept back
  run2(sender, receiver);
}
