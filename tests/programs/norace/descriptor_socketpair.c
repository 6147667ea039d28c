// rule: file descriptors
// claim: send, recv, sendmsg and recvmsg order
// expect: nothing
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../order.h"

int data, more;
int ends[2];

static void* first(void* _) {
  data = 1;
  if (send(ends[0], "x", 1, 0) != 1) abort();
  more = 1;
  struct iovec io = {"y", 1};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  if (sendmsg(ends[0], &message, 0) != 1) abort();
  step();
  return NULL;
}

static void* second(void* _) {
  char byte;
  if (recv(ends[1], &byte, 1, 0) != 1) abort();
  use(data);
  struct iovec io = {&byte, 1};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  if (recvmsg(ends[1], &message, 0) != 1) abort();
  use(more);
  return NULL;
}

int main(void) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  run2(first, second);
}
