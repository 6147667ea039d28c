// Waiting until descriptors are ready. Ready to read means that there is a byte, so its writer comes before;
// an error, that the other end is gone, so who closed it does.
// What epoll was told with epoll_ctl (a pointer to the connection's data, usually) comes before the
// epoll_wait that hands it out.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "runtime/interpose/descriptors.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

int polled(pollfd* fds, nfds_t count, int ready, lane::Pc pc) {
  if (ready < 0) return ready;
  for (nfds_t i = 0; i < count; ++i) {
    lane::write(&fds[i].revents, sizeof fds[i].revents, pc);
    if ((fds[i].revents & (POLLIN | POLLRDNORM | POLLHUP | POLLRDHUP | POLLPRI | POLLERR)) != 0)
      after_receiving(fds[i].fd);
  }
  return ready;
}
void polling(pollfd* fds, nfds_t count, lane::Pc pc) {
  for (nfds_t i = 0; i < count; ++i) lane::read(&fds[i].fd, sizeof fds[i].fd + sizeof fds[i].events, pc);
}

size_t set_bytes(int count) { return (static_cast<size_t>(count) + 63) / 64 * 8; }

void selecting(int count, fd_set* set, lane::Pc pc) {
  if (set != nullptr && count > 0) lane::read(set, set_bytes(count), pc);
}
void selected(int count, fd_set* set, bool reading, lane::Pc pc) {
  if (set == nullptr || count <= 0) return;
  lane::write(set, set_bytes(count), pc);
  // Not FD_ISSET: sets larger than FD_SETSIZE are legal.
  auto const* const words = reinterpret_cast<const uint64_t*>(set);
  for (int fd = 0; reading && fd < count; ++fd) {
    if ((words[fd / 64] >> (fd % 64) & 1) != 0) after_receiving(fd);
  }
}

int epolled(int epoll, epoll_event* events, int ready, lane::Pc pc) {
  if (ready > 0) {
    after_receiving(epoll);
    lane::write(events, static_cast<size_t>(ready) * sizeof *events, pc);
    for (int i = 0; i < ready; ++i) {
      if ((events[i].events & (EPOLLIN | EPOLLRDNORM | EPOLLHUP | EPOLLRDHUP | EPOLLPRI | EPOLLERR)) == 0)
        continue;
      for (int const fd : watched_as(epoll, events[i].data.u64).fds) {
        if (fd >= 0) after_receiving(fd);
      }
    }
  }
  return ready;
}

}  // namespace

INTERPOSE(int, poll, pollfd* fds, nfds_t count, int timeout) {
  polling(fds, count, CALLER);
  return polled(fds, count, REAL(poll)(fds, count, timeout), CALLER);
}
INTERPOSE(int, __poll_chk, pollfd* fds, nfds_t count, int timeout, size_t room) {
  polling(fds, count, CALLER);
  return polled(fds, count, REAL(__poll_chk)(fds, count, timeout, room), CALLER);
}
INTERPOSE(int, ppoll, pollfd* fds, nfds_t count, const struct timespec* timeout, const sigset_t* mask) {
  polling(fds, count, CALLER);
  return polled(fds, count, REAL(ppoll)(fds, count, timeout, mask), CALLER);
}
INTERPOSE(int, __ppoll_chk, pollfd* fds, nfds_t count, const struct timespec* timeout, const sigset_t* mask,
          size_t room) {
  polling(fds, count, CALLER);
  return polled(fds, count, REAL(__ppoll_chk)(fds, count, timeout, mask, room), CALLER);
}

INTERPOSE(int, select, int count, fd_set* in, fd_set* out, fd_set* other, struct timeval* timeout) {
  auto const pc = CALLER;
  for (fd_set* set : (fd_set*[]){in, out, other}) selecting(count, set, pc);
  int const ready = REAL(select)(count, in, out, other, timeout);
  if (ready >= 0) {
    selected(count, in, true, pc);
    selected(count, out, false, pc);
    selected(count, other, false, pc);
  }
  return ready;
}
INTERPOSE(int, pselect, int count, fd_set* in, fd_set* out, fd_set* other, const struct timespec* timeout,
          const sigset_t* mask) {
  auto const pc = CALLER;
  for (fd_set* set : (fd_set*[]){in, out, other}) selecting(count, set, pc);
  int const ready = REAL(pselect)(count, in, out, other, timeout, mask);
  if (ready >= 0) {
    selected(count, in, true, pc);
    selected(count, out, false, pc);
    selected(count, other, false, pc);
  }
  return ready;
}

INTERPOSE(int, epoll_create, int size) {
  int const fd = REAL(epoll_create)(size);
  if (fd >= 0) made_anonymous(fd);
  return fd;
}
INTERPOSE(int, epoll_create1, int flags) {
  int const fd = REAL(epoll_create1)(flags);
  if (fd >= 0) made_anonymous(fd);
  return fd;
}
INTERPOSE(int, epoll_ctl, int epoll, int operation, int fd, epoll_event* event) {
  if (event != nullptr && operation != EPOLL_CTL_DEL) lane::read(event, sizeof *event, CALLER);
  before_sending(epoll);
  // Before the call: another thread may be told of it before this one returns.
  if (event != nullptr && operation != EPOLL_CTL_DEL) watched(epoll, event->data.u64, fd);
  return REAL(epoll_ctl)(epoll, operation, fd, event);
}
INTERPOSE(int, epoll_wait, int epoll, epoll_event* events, int room, int timeout) {
  return epolled(epoll, events, REAL(epoll_wait)(epoll, events, room, timeout), CALLER);
}
INTERPOSE(int, epoll_pwait, int epoll, epoll_event* events, int room, int timeout, const sigset_t* mask) {
  return epolled(epoll, events, REAL(epoll_pwait)(epoll, events, room, timeout, mask), CALLER);
}
INTERPOSE(int, epoll_pwait2, int epoll, epoll_event* events, int room, const struct timespec* timeout,
          const sigset_t* mask) {
  return epolled(epoll, events, REAL(epoll_pwait2)(epoll, events, room, timeout, mask), CALLER);
}
