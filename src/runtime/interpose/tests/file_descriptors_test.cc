// Descriptors: a byte read was written before, through every kind of channel; nothing is ordered where
// nothing flows.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/interpose/tests/fake_lane.h"

extern "C" {
extern int
    record_objects;  // unnamed objects of acquire and release appear as #1, #2, ... by order of appearance
void record_forget_objects(void);
const void* record_object(unsigned number);
}

static char a[64];
static char b[64];

// What went in at one end and what came out at the other, with objects renumbered for each check.
#define EXPECT_FLOW(call, expected) \
  do {                              \
    record_forget_objects();        \
    EXPECT(call, expected);         \
  } while (0)

static void pipes() {
  int p[2];
  int q[2];
  record_name(p, sizeof p, "p");
  EXPECT(CHECK(pipe(p) == 0), "write p 8");
  CHECK(pipe2(q, O_CLOEXEC) == 0);
  EXPECT_FLOW((CHECK(write(p[1], a, 3) == 3 && read(p[0], b, 10) == 3)),
              "read a 3; release #1; acquire #1; write b 3");
  EXPECT_FLOW((CHECK(write(p[1], a, 3) == 3 && write(q[1], a, 1) == 1 && read(q[0], b, 10) == 1)),
              "read a 3; release #1; read a 1; release #2; acquire #2; write b 1");
  // A copy of a descriptor is the same pipe; the end of the stream is received too.
  int const copy = dup(p[0]);
  EXPECT_FLOW((CHECK(read(copy, b, 10) == 3)), "acquire #1; write b 3");
  EXPECT_FLOW((close(p[1]), CHECK(read(copy, b, 10) == 0)), "release #1; acquire #1");
  close(copy), close(p[0]);
  // Nothing received, nothing ordered.
  fcntl(q[0], F_SETFL, O_NONBLOCK);
  EXPECT_FLOW((CHECK(read(q[0], b, 10) == -1 && errno == EAGAIN)), "");
  EXPECT_FLOW((CHECK(read(-1, b, 10) == -1 && errno == EBADF)), "");
  iovec const from[2] = {{a, 4}, {a + 8, 4}};
  iovec const to[2] = {{b, 2}, {b + 8, 16}};
  EXPECT_FLOW((CHECK(writev(q[1], from, 2) == 8 && readv(q[0], to, 2) == 8)),
              "read a 4; read a+8 4; release #1; acquire #1; write b 2; write b+8 6");
  pollfd ready = {q[0], POLLIN, 0};
  EXPECT_FLOW((CHECK(poll(&ready, 1, 0) == 0)), "");
  CHECK(write(q[1], a, 1) == 1);
  EXPECT_FLOW((CHECK(poll(&ready, 1, 0) == 1)), "acquire #1");
  fd_set set;
  FD_ZERO(&set);
  FD_SET(q[0], &set);
  timeval none = {0, 0};
  EXPECT_FLOW((CHECK(select(q[0] + 1, &set, nullptr, nullptr, &none) == 1)), "acquire #1");
  close(q[0]), close(q[1]);
  record_forget_names();
  record_name(a, sizeof a, "a");
  record_name(b, sizeof b, "b");
}

static void regular_files_order_nothing() {
  char path[] = "/tmp/deadheat-fd-XXXXXX";
  int const fd = mkstemp(path);
  EXPECT_FLOW((CHECK(write(fd, a, 5) == 5)), "read a 5");
  EXPECT_FLOW((CHECK(pread(fd, b, 5, 0) == 5)), "write b 5");
  EXPECT_FLOW((CHECK(pwrite(fd, a, 5, 0) == 5)), "read a 5");
  close(fd);
  unlink(path);
}

static void pairs() {
  int s[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
  // Two directions are two channels.
  EXPECT_FLOW((CHECK(send(s[0], a, 2, 0) == 2 && send(s[1], a, 3, 0) == 3)),
              "read a 2; release #1; read a 3; release #2");
  EXPECT((CHECK(recv(s[1], b, 9, 0) == 2 && recv(s[0], b, 9, 0) == 3)),
         "acquire #1; write b 2; acquire #2; write b 3");
  iovec part = {a, 4};
  iovec into = {b, 9};
  msghdr out = {};
  out.msg_iov = &part;
  out.msg_iovlen = 1;
  msghdr in = {};
  in.msg_iov = &into;
  in.msg_iovlen = 1;
  EXPECT_FLOW((CHECK(sendmsg(s[0], &out, 0) == 4 && recvmsg(s[1], &in, 0) == 4)),
              "read a 4; release #1; acquire #1; write b 4");
  EXPECT_FLOW((shutdown(s[0], SHUT_WR), CHECK(read(s[1], b, 9) == 0)), "release #1; acquire #1");
  close(s[0]), close(s[1]);
}

static void tcp() {
  int const server = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  socklen_t size = sizeof address;
  CHECK(getsockname(server, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  int const client = socket(AF_INET, SOCK_STREAM, 0);
  int peer = -1;
  EXPECT_FLOW((CHECK(listen(server, 5) == 0),
               CHECK(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0),
               peer = accept(server, nullptr, nullptr)),
              "release #1; release #1; acquire #1; acquire #1");
  CHECK(peer >= 0);
  for (int i = 0; i < 2; ++i) {  // the second time from what is remembered of the socket
    EXPECT_FLOW((CHECK(write(client, a, 2) == 2 && read(peer, b, 9) == 2)),
                "read a 2; release #1; acquire #1; write b 2");
    EXPECT((CHECK(write(peer, a, 2) == 2 && read(client, b, 9) == 2)),
           "read a 2; release #2; acquire #2; write b 2");
  }
  close(client), close(peer), close(server);
}

static void udp() {
  int const one = socket(AF_INET, SOCK_DGRAM, 0);
  int const two = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  CHECK(bind(two, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);  // any address, some port
  socklen_t size = sizeof address;
  CHECK(getsockname(two, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_FLOW((CHECK(sendto(one, a, 2, 0, reinterpret_cast<sockaddr*>(&address), sizeof address) == 2),
               CHECK(recvfrom(two, b, 9, 0, nullptr, nullptr) == 2)),
              "read a 2; release #1; acquire #1; write b 2");
  close(one), close(two);
}

static void unix_names() {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path + 1, 90, "deadheat-test-%d", getpid());  // abstract
  socklen_t const size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1));
  int const server = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(bind(server, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(server, 5) == 0);
  int const client = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(connect(client, reinterpret_cast<sockaddr*>(&address), size) == 0);
  int const peer = accept4(server, nullptr, nullptr, SOCK_CLOEXEC);
  EXPECT_FLOW((CHECK(write(client, a, 2) == 2 && read(peer, b, 9) == 2)),
              "read a 2; release #1; acquire #1; write b 2");
  EXPECT((CHECK(write(peer, a, 2) == 2 && read(client, b, 9) == 2)),
         "read a 2; release #2; acquire #2; write b 2");
  close(client), close(peer), close(server);
}

static void numbered() {
  int const e = eventfd(0, EFD_NONBLOCK);
  int const f = eventfd(0, EFD_NONBLOCK);
  eventfd_t value = 0;
  record_name(&value, sizeof value, "value");
  EXPECT_FLOW((CHECK(eventfd_read(e, &value) == -1)), "");
  EXPECT_FLOW((eventfd_write(e, 1), eventfd_write(f, 1), CHECK(eventfd_read(e, &value) == 0)),
              "release #1; release #2; acquire #1; write value 8");
  uint64_t one = 1;
  record_name(&one, sizeof one, "one");
  int const copy = fcntl(e, F_DUPFD_CLOEXEC, 0);
  EXPECT_FLOW((CHECK(write(e, &one, 8) == 8 && read(copy, &one, 8) == 8)),
              "read one 8; release #1; acquire #1; write one 8");
  int const epoll = epoll_create1(0);
  epoll_event event = {};
  event.events = EPOLLIN;
  record_name(&event, sizeof event, "event");
  EXPECT_FLOW(
      (CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, f, &event) == 0), CHECK(epoll_wait(epoll, &event, 1, 0) == 1)),
      "read event 12; release #1; acquire #1; write event 12; acquire #2");
  close(e), close(f), close(copy), close(epoll);
}

// However it has come here, a descriptor is known by what it leads to.
static void unseen_copies() {
  int const e = eventfd(0, EFD_NONBLOCK);
  int const f = eventfd(0, EFD_NONBLOCK);
  int const copy = static_cast<int>(syscall(SYS_dup, e));
  memset(a, 0, sizeof a);
  a[0] = 1;
  EXPECT_FLOW((CHECK(write(e, a, 8) == 8 && write(f, a, 8) == 8 && read(copy, a, 8) == 8)),
              "read a 8; release #1; read a 8; release #2; acquire #1; write a 8");
  // The first one need not be there any more, and the number may be another's.
  close(e);
  int const again = static_cast<int>(syscall(SYS_dup, copy));
  int const other = eventfd(0, EFD_NONBLOCK);
  EXPECT_FLOW((CHECK(write(copy, a, 8) == 8 && write(other, a, 8) == 8 && read(again, a, 8) == 8)),
              "read a 8; release #1; read a 8; release #2; acquire #1; write a 8");
  close(f), close(copy), close(again), close(other);
}

static void many_sockets_come_and_go() {
  // More channels than there is room for: what is closed is forgotten, what is open stays.
  int kept[2];
  CHECK(pipe(kept) == 0);
  record_forget_objects();
  EXPECT(CHECK(write(kept[1], a, 1) == 1), "read a 1; release #1");
  record_objects = 0;
  record_forget_names();
  record_name(record_object(1), 1, "kept");
  record_begin();
  for (int i = 0; i < 60000; ++i) {
    int p[2];
    CHECK(pipe(p) == 0);
    CHECK(write(p[1], a, 1) == 1);
    close(p[0]), close(p[1]);
  }
  CHECK_RECORD("");
  EXPECT(CHECK(read(kept[0], b, 1) == 1), "acquire kept");
  // And there is room for new ones again: they do not share.
  record_objects = 1;
  int p[2];
  int q[2];
  CHECK(pipe(p) == 0 && pipe(q) == 0);
  EXPECT_FLOW((CHECK(write(p[1], a, 1) == 1 && write(q[1], a, 1) == 1)), "release #1; release #2");
}

// What the program prints goes one way, what is typed the other, and comes back.
static void terminals() {
  int const master = posix_openpt(O_RDWR | O_NOCTTY);
  CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
  int const slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  CHECK(slave >= 0);
  memcpy(a, "x\n", 2);
  EXPECT_FLOW((CHECK(write(slave, a, 1) == 1 && read(master, b, 8) == 1)),
              "read a 1; release #1; acquire #1; write b 1");
  EXPECT_FLOW((CHECK(write(master, a, 2) == 2 && read(slave, b, 8) == 2 && read(master, b, 8) == 3)),
              "read a 2; release #1; release #2; acquire #1; write b 2; acquire #2; write b 3");
  close(slave), close(master);
}

int main() {
  signal(SIGPIPE, SIG_IGN);
  record_objects = 1;
  record_name(a, sizeof a, "a");
  record_name(b, sizeof b, "b");
  pipes();
  regular_files_order_nothing();
  pairs();
  tcp();
  udp();
  unix_names();
  numbered();
  terminals();
  unseen_copies();
  many_sockets_come_and_go();
  return 0;
}
