// rule: file descriptors
// claim: a byte read from a pipe was written before
// expect: nothing
#include <unistd.h>

#include "../order.h"

int data;
int ends[2];

static void* sender(void* _) {
  data = 1;
  if (write(ends[1], "x", 1) != 1) abort();
  step();
  return NULL;
}

static void* receiver(void* _) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) abort();
  await(1);
  use(data);
  return NULL;
}

int main(void) {
  if (pipe(ends) != 0) abort();
  run2(sender, receiver);
}
