// rule: file descriptors
// claim: epoll_wait saying that a pipe can be read is not ordered after the write to another pipe
// expect: race write@a read@b
#include <sys/epoll.h>
#include <unistd.h>

#include "../order.h"

int data;
int watched[2], other[2];
int epoll;

static void* writer(void* _) {
  data = 1;  // @a
  if (write(other[1], "x", 1) != 1) abort();
  step();
  return NULL;
}

static void* waiter(void* _) {
  struct epoll_event event;
  await(1);
  if (epoll_wait(epoll, &event, 1, -1) != 1) abort();
  use(data);  // @b
  return NULL;
}

int main(void) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = &data};
  if (pipe(watched) != 0 || pipe(other) != 0) abort();
  epoll = epoll_create1(0);
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, watched[0], &event) != 0) abort();
  if (write(watched[1], "x", 1) != 1) abort();
  run2(writer, waiter);
}
