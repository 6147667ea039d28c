// rule: file descriptors
// claim: an eventfd that was received is another one than those that were not sent
// flags: -D_GNU_SOURCE
// expect: race write@a read@b
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../order.h"

int data;
int event, other, received;

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
  data = 1;  // @a
  if (write(other, &one, 8) != 8) abort();
  step();
  return NULL;
}

static void* reader(void* _) {
  uint64_t value;
  await(1);
  if (read(received, &value, 8) != 8) abort();
  use(data);  // @b
  return NULL;
}

int main(void) {
  event = eventfd(1, 0);
  other = eventfd(0, 0);
  received = sent_to_ourselves(event);
  run2(writer, reader);
}
