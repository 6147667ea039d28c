// rule: file descriptors
// claim: the two directions of a socket are two: having sent orders nothing for the sender
// expect: race write@a read@b
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../order.h"

int data, more;
int ends[2];

static void* first(void* _) {
  data = 1;  // @a
  char byte;
  if (recv(ends[0], &byte, 1, 0) != 1) abort();
  step();
  return NULL;
}

static void* second(void* _) {
  if (send(ends[1], "x", 1, 0) != 1) abort();
  await(1);
  use(data);  // @b
  return NULL;
}

int main(void) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  run2(first, second);
}
