// rule: file descriptors
// claim: an eventfd that was received, or taken from the process itself, is the one that was sent
// flags: -D_GNU_SOURCE
// expect: nothing
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../order.h"

int data[3];
int event, received, taken;
int pipe_ends[2], pipe_received;

// By a message to this very process.
static int sent_to_ourselves(int fd) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) abort();
  char byte = 'x';
  struct iovec bytes = {&byte, 1};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  if (sendmsg(pair[0], &message, 0) != 1) abort();
  if (recvmsg(pair[1], &message, 0) != 1) abort();
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  return fd;
}

static void* writer(void* _) {
  uint64_t one = 1;
  data[0] = 1;
  if (write(event, &one, 8) != 8) abort();
  step();
  await(2);
  data[1] = 1;
  if (write(received, &one, 8) != 8) abort();
  step();
  await(4);
  data[2] = 1;
  if (write(pipe_received, &one, 8) != 8) abort();
  step();
  return NULL;
}

static void* reader(void* _) {
  uint64_t value;
  await(1);
  if (read(received, &value, 8) != 8) abort();
  use(data[0]);
  step();
  await(3);
  if (read(taken, &value, 8) != 8) abort();
  use(data[1]);
  step();
  await(5);
  if (read(pipe_ends[0], &value, 8) != 8) abort();
  use(data[2]);
  return NULL;
}

int main(void) {
  event = eventfd(0, 0);
  received = sent_to_ourselves(event);
  int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
  taken = (int)syscall(SYS_pidfd_getfd, self, event, 0);
  if (taken < 0) abort();
  if (pipe(pipe_ends) != 0) abort();
  pipe_received = sent_to_ourselves(pipe_ends[1]);
  run2(writer, reader);
}
