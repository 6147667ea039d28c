// rule: file descriptors
// claim: what is written after the byte was sent is not ordered by the pipe
// expect: race write@a read@b
#include <unistd.h>

#include "../order.h"

int data;
int ends[2];

static void* sender(void* _) {
  if (write(ends[1], "x", 1) != 1) abort();
  data = 1;  // @a
  step();
  return NULL;
}

static void* receiver(void* _) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) abort();
  await(1);
  use(data);  // @b
  return NULL;
}

int main(void) {
  if (pipe(ends) != 0) abort();
  run2(sender, receiver);
}
