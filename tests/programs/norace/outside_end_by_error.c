// rule: outside
// claim: who learns by an error that the other end is gone comes after whoever closed it
// expect: nothing
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../order.h"

int data[4];
int written[2], polled[2], watched[2], socket_pair[2];

static void* closes(void* _) {
  data[0] = 1;
  close(written[0]);
  data[1] = 1;
  close(polled[0]);
  data[2] = 1;
  close(watched[0]);
  data[3] = 1;
  close(socket_pair[0]);
  step();
  return NULL;
}

static void* hears(void* _) {
  await(1);
  if (write(written[1], "x", 1) != -1 || errno != EPIPE) abort();
  ++data[0];
  struct pollfd one = {polled[1], 0, 0};
  if (poll(&one, 1, -1) != 1 || (one.revents & POLLERR) == 0) abort();
  ++data[1];
  int const epoll = epoll_create1(0);
  struct epoll_event event = {0, {.fd = watched[1]}};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, watched[1], &event) != 0) abort();
  if (epoll_wait(epoll, &event, 1, -1) != 1 || (event.events & EPOLLERR) == 0) abort();
  ++data[2];
  if (send(socket_pair[1], "x", 1, 0) != -1 || errno != EPIPE) abort();
  ++data[3];
  return NULL;
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  if (pipe(written) != 0 || pipe(polled) != 0 || pipe(watched) != 0) abort();
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, socket_pair) != 0) abort();
  run2(closes, hears);
}
