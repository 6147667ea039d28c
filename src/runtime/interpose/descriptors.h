// Which objects the bytes behind a file descriptor flow through: "a byte read was written before".
#pragma once

#include <errno.h>
#include <sys/socket.h>

#include "runtime/interpose/outside.h"

namespace deadheat::interpose {

// What a read from a descriptor acquires from and a write to it releases to. Null: nothing is ordered
// (regular files, sockets that are not connected).
struct Channel {
  const void* in;
  const void* out;
  const void* echo;   // and this as well: what is written may be read at the same end
  bool is_inherited;  // a child process may have it, too
};
// Keeps errno. Any number may be asked for, open or not.
Channel channel_of(int fd);

// Where a datagram to this address goes.
const void* datagram_object(int fd, const sockaddr* to, socklen_t size);
// What a connection is made through: listen releases and connect acquires; connect releases and accept
// acquires.
const void* connection_object(int fd);
const void* connection_object(int fd, const sockaddr* to, socklen_t size);

// Do two descriptors lead to one open file description? Not every kernel, and not every sandbox, says so.
enum class Same { kNo, kYes, kUnknown };
Same is_same_description(int a, int b);

// Bookkeeping for what the kernel does not tell apart.
void made_anonymous(int fd);          // epoll: all share one inode
void made_eventfd(int fd);            // and so do these, but the kernel has a number for each
void received_descriptor(int fd);     // by a message: new here, perhaps known by another number
void made_signalfd(int fd, bool is);  // a read from it is the receipt of signals
bool is_signalfd(int fd);
void made_pair(int a, int b);  // socketpair: two inodes, no names
void duplicated(int from, int to);
void closed(int fd);

// What epoll_ctl says that epoll_wait will hand out when a descriptor is ready. The events do not name the
// descriptor, so it is remembered, as long as there is room: for each data of an epoll object, the last few
// descriptors that had it. More than one, or one that is no longer meant, is more order than there is.
constexpr unsigned kMostWatched = 4;
void watched(int epoll, uint64_t data, int fd);
// The descriptors that such an event may be about, -1 for none.
struct Watched {
  int fds[kMostWatched];
};
Watched watched_as(int epoll, uint64_t data);

void descriptors_fork_prepare();
void descriptors_fork_done();

// Telling the lane about a transfer.
inline void before_sending(int fd) {
  Channel const channel = channel_of(fd);
  if (channel.out != nullptr) lane::release(channel.out);
  if (channel.echo != nullptr) lane::release(channel.echo);
  if (channel.is_inherited) children_may_hear();
  sending_may_signal();
}
inline void after_receiving(int fd) {
  Channel const channel = channel_of(fd);
  if (channel.in != nullptr) lane::acquire(channel.in);
  heard_from_outside();
}

// What fails because the other end is gone has heard of its end. Keeps errno; returns the result.
template <class Result>
Result after_failing(int fd, Result result) {
  if (__builtin_expect(result < 0 && (errno == EPIPE || errno == ECONNRESET), 0)) after_receiving(fd);
  return result;
}

}  // namespace deadheat::interpose
