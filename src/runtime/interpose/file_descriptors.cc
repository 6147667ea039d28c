// Input and output through descriptors: the program's buffers, and the order that a byte carries from its
// writer to its reader (descriptors.cc says through what). End of file counts as received: somebody closed
// the other end before.
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/interpose/descriptors.h"
#include "runtime/interpose/signals.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

void reads_vectors(const iovec* vectors, size_t count, lane::Pc pc) {
  if (vectors == nullptr || count == 0) return;
  lane::read(vectors, count * sizeof *vectors, pc);
  for (size_t i = 0; i < count; ++i) {
    if (vectors[i].iov_len != 0) lane::read(vectors[i].iov_base, vectors[i].iov_len, pc);
  }
}
// The first `size` bytes of them.
void writes_vectors(const iovec* vectors, size_t count, size_t size, lane::Pc pc) {
  for (size_t i = 0; i < count && size != 0; ++i) {
    size_t const part = vectors[i].iov_len < size ? vectors[i].iov_len : size;
    if (part != 0) lane::write(vectors[i].iov_base, part, pc);
    size -= part;
  }
}

void received_signals(const void* buffer, ssize_t size) {
  auto const* const infos = static_cast<const signalfd_siginfo*>(buffer);
  for (size_t i = 0; i < static_cast<size_t>(size) / sizeof *infos; ++i) {
    received_signal(static_cast<int>(infos[i].ssi_signo));
  }
}

ssize_t received(int fd, void* buffer, ssize_t size, lane::Pc pc) {
  after_failing(fd, size);
  if (size >= 0) {
    after_receiving(fd);
    if (size > 0) {
      if (is_signalfd(fd)) received_signals(buffer, size);
      lane::write(buffer, static_cast<size_t>(size), pc);
    }
  }
  return size;
}
void sending(int fd, const void* buffer, size_t size, lane::Pc pc) {
  if (size != 0) lane::read(buffer, size, pc);
  before_sending(fd);
}

void received_descriptors(const msghdr* message) {
  for (cmsghdr* control = CMSG_FIRSTHDR(message); control != nullptr;
       control = CMSG_NXTHDR(const_cast<msghdr*>(message), control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    size_t const count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) received_descriptor(reinterpret_cast<int*>(CMSG_DATA(control))[i]);
  }
}
void received_message(msghdr* message, size_t size, lane::Pc pc) {
  writes_vectors(message->msg_iov, message->msg_iovlen, size, pc);
  if (message->msg_name != nullptr && message->msg_namelen != 0) {
    lane::write(message->msg_name, message->msg_namelen, pc);
  }
  if (message->msg_control != nullptr && message->msg_controllen != 0) {
    lane::write(message->msg_control, message->msg_controllen, pc);
    received_descriptors(message);
  }
}
void sending_message(int fd, const msghdr* message, lane::Pc pc) {
  lane::read(message, sizeof *message, pc);
  reads_vectors(message->msg_iov, message->msg_iovlen, pc);
  if (message->msg_control != nullptr && message->msg_controllen != 0) {
    lane::read(message->msg_control, message->msg_controllen, pc);
  }
  const void* const to =
      datagram_object(fd, static_cast<const sockaddr*>(message->msg_name), message->msg_namelen);
  if (to != nullptr) lane::release(to);
}

}  // namespace

// --- Reading

INTERPOSE(ssize_t, read, int fd, void* buffer, size_t size) {
  return received(fd, buffer, REAL(read)(fd, buffer, size), CALLER);
}
INTERPOSE(ssize_t, __read_chk, int fd, void* buffer, size_t size, size_t room) {
  return received(fd, buffer, REAL(__read_chk)(fd, buffer, size, room), CALLER);
}
INTERPOSE(ssize_t, pread, int fd, void* buffer, size_t size, off_t offset) {
  return received(fd, buffer, REAL(pread)(fd, buffer, size, offset), CALLER);
}
INTERPOSE(ssize_t, pread64, int fd, void* buffer, size_t size, off_t offset) {
  return received(fd, buffer, REAL(pread64)(fd, buffer, size, offset), CALLER);
}
INTERPOSE(ssize_t, __pread_chk, int fd, void* buffer, size_t size, off_t offset, size_t room) {
  return received(fd, buffer, REAL(__pread_chk)(fd, buffer, size, offset, room), CALLER);
}
INTERPOSE(ssize_t, __pread64_chk, int fd, void* buffer, size_t size, off_t offset, size_t room) {
  return received(fd, buffer, REAL(__pread64_chk)(fd, buffer, size, offset, room), CALLER);
}

#define READS_INTO_VECTORS(name, parameters, arguments)                                       \
  INTERPOSE(ssize_t, name, int fd, const iovec* vectors, int count EXPAND parameters) {       \
    if (count > 0) lane::read(vectors, static_cast<size_t>(count) * sizeof *vectors, CALLER); \
    ssize_t const size = REAL(name)(fd, vectors, count EXPAND arguments);                     \
    if (size >= 0) {                                                                          \
      after_receiving(fd);                                                                    \
      writes_vectors(vectors, static_cast<size_t>(count), static_cast<size_t>(size), CALLER); \
    }                                                                                         \
    return size;                                                                              \
  }
#define EXPAND(...) __VA_OPT__(, ) __VA_ARGS__
READS_INTO_VECTORS(readv, (), ())
READS_INTO_VECTORS(preadv, (off_t offset), (offset))
READS_INTO_VECTORS(preadv64, (off_t offset), (offset))
READS_INTO_VECTORS(preadv2, (off_t offset, int flags), (offset, flags))
READS_INTO_VECTORS(preadv64v2, (off_t offset, int flags), (offset, flags))

INTERPOSE(ssize_t, recv, int fd, void* buffer, size_t size, int flags) {
  ssize_t const got = REAL(recv)(fd, buffer, size, flags);
  // With MSG_TRUNC the result may be more than there is room for.
  received(fd, buffer, got > 0 && static_cast<size_t>(got) > size ? static_cast<ssize_t>(size) : got, CALLER);
  return got;
}
INTERPOSE(ssize_t, __recv_chk, int fd, void* buffer, size_t size, size_t room, int flags) {
  ssize_t const got = REAL(__recv_chk)(fd, buffer, size, room, flags);
  received(fd, buffer, got > 0 && static_cast<size_t>(got) > size ? static_cast<ssize_t>(size) : got, CALLER);
  return got;
}
INTERPOSE(ssize_t, recvfrom, int fd, void* buffer, size_t size, int flags, sockaddr* from,
          socklen_t* from_size) {
  socklen_t const room = from_size != nullptr ? *from_size : 0;
  ssize_t const got = REAL(recvfrom)(fd, buffer, size, flags, from, from_size);
  received(fd, buffer, got > 0 && static_cast<size_t>(got) > size ? static_cast<ssize_t>(size) : got, CALLER);
  if (got >= 0 && from != nullptr && from_size != nullptr) {
    lane::write(from_size, sizeof *from_size, CALLER);
    if (socklen_t const part = *from_size < room ? *from_size : room) lane::write(from, part, CALLER);
  }
  return got;
}
INTERPOSE(ssize_t, __recvfrom_chk, int fd, void* buffer, size_t size, size_t room, int flags, sockaddr* from,
          socklen_t* from_size) {
  ssize_t const got = REAL(__recvfrom_chk)(fd, buffer, size, room, flags, from, from_size);
  received(fd, buffer, got > 0 && static_cast<size_t>(got) > size ? static_cast<ssize_t>(size) : got, CALLER);
  if (got >= 0 && from_size != nullptr) lane::write(from_size, sizeof *from_size, CALLER);
  return got;
}
INTERPOSE(ssize_t, recvmsg, int fd, msghdr* message, int flags) {
  ssize_t const got = REAL(recvmsg)(fd, message, flags);
  if (got >= 0) {
    after_receiving(fd);
    received_message(message, static_cast<size_t>(got), CALLER);
  }
  return got;
}
INTERPOSE(int, recvmmsg, int fd, mmsghdr* messages, unsigned count, int flags, struct timespec* timeout) {
  int const got = REAL(recvmmsg)(fd, messages, count, flags, timeout);
  if (got > 0) {
    after_receiving(fd);
    for (int i = 0; i < got; ++i) received_message(&messages[i].msg_hdr, messages[i].msg_len, CALLER);
  }
  return got;
}

// --- Writing

INTERPOSE(ssize_t, write, int fd, const void* buffer, size_t size) {
  sending(fd, buffer, size, CALLER);
  return after_failing(fd, REAL(write)(fd, buffer, size));
}
INTERPOSE(ssize_t, pwrite, int fd, const void* buffer, size_t size, off_t offset) {
  sending(fd, buffer, size, CALLER);
  return after_failing(fd, REAL(pwrite)(fd, buffer, size, offset));
}
INTERPOSE(ssize_t, pwrite64, int fd, const void* buffer, size_t size, off_t offset) {
  sending(fd, buffer, size, CALLER);
  return after_failing(fd, REAL(pwrite64)(fd, buffer, size, offset));
}
#define WRITES_FROM_VECTORS(name, parameters, arguments)                                \
  INTERPOSE(ssize_t, name, int fd, const iovec* vectors, int count EXPAND parameters) { \
    if (count > 0) reads_vectors(vectors, static_cast<size_t>(count), CALLER);          \
    before_sending(fd);                                                                 \
    return after_failing(fd, REAL(name)(fd, vectors, count EXPAND arguments));          \
  }
WRITES_FROM_VECTORS(writev, (), ())
WRITES_FROM_VECTORS(pwritev, (off_t offset), (offset))
WRITES_FROM_VECTORS(pwritev64, (off_t offset), (offset))
WRITES_FROM_VECTORS(pwritev2, (off_t offset, int flags), (offset, flags))
WRITES_FROM_VECTORS(pwritev64v2, (off_t offset, int flags), (offset, flags))

INTERPOSE(ssize_t, send, int fd, const void* buffer, size_t size, int flags) {
  sending(fd, buffer, size, CALLER);
  return after_failing(fd, REAL(send)(fd, buffer, size, flags));
}
INTERPOSE(ssize_t, sendto, int fd, const void* buffer, size_t size, int flags, const sockaddr* to,
          socklen_t to_size) {
  if (size != 0) lane::read(buffer, size, CALLER);
  if (to != nullptr && to_size != 0) lane::read(to, to_size, CALLER);
  if (const void* const object = datagram_object(fd, to, to_size)) lane::release(object);
  return after_failing(fd, REAL(sendto)(fd, buffer, size, flags, to, to_size));
}
INTERPOSE(ssize_t, sendmsg, int fd, const msghdr* message, int flags) {
  sending_message(fd, message, CALLER);
  return after_failing(fd, REAL(sendmsg)(fd, message, flags));
}
INTERPOSE(int, sendmmsg, int fd, mmsghdr* messages, unsigned count, int flags) {
  for (unsigned i = 0; i < count; ++i) sending_message(fd, &messages[i].msg_hdr, CALLER);
  int const sent = after_failing(fd, REAL(sendmmsg)(fd, messages, count, flags));
  for (int i = 0; i < sent; ++i) lane::write(&messages[i].msg_len, sizeof messages[i].msg_len, CALLER);
  return sent;
}

// --- From one descriptor to another, without the program's memory

INTERPOSE(ssize_t, sendfile, int to, int from, off_t* offset, size_t size) {
  before_sending(to);
  ssize_t const sent = after_failing(to, REAL(sendfile)(to, from, offset, size));
  if (sent >= 0 && offset != nullptr) lane::write(offset, sizeof *offset, CALLER);
  return sent;
}
INTERPOSE(ssize_t, sendfile64, int to, int from, off_t* offset, size_t size) {
  before_sending(to);
  ssize_t const sent = after_failing(to, REAL(sendfile64)(to, from, offset, size));
  if (sent >= 0 && offset != nullptr) lane::write(offset, sizeof *offset, CALLER);
  return sent;
}
INTERPOSE(ssize_t, splice, int from, off_t* from_offset, int to, off_t* to_offset, size_t size,
          unsigned flags) {
  before_sending(to);
  ssize_t const moved = after_failing(to, REAL(splice)(from, from_offset, to, to_offset, size, flags));
  if (moved >= 0) after_receiving(from);
  return moved;
}
INTERPOSE(ssize_t, tee, int from, int to, size_t size, unsigned flags) {
  before_sending(to);
  ssize_t const moved = after_failing(to, REAL(tee)(from, to, size, flags));
  if (moved >= 0) after_receiving(from);
  return moved;
}
INTERPOSE(ssize_t, vmsplice, int fd, const iovec* vectors, size_t count, unsigned flags) {
  reads_vectors(vectors, count, CALLER);
  before_sending(fd);
  return after_failing(fd, REAL(vmsplice)(fd, vectors, count, flags));
}

// --- eventfd and signalfd

INTERPOSE(int, eventfd, unsigned value, int flags) {
  int const fd = REAL(eventfd)(value, flags);
  if (fd >= 0) made_eventfd(fd);
  return fd;
}
INTERPOSE(int, eventfd_read, int fd, eventfd_t* value) {
  int const result = REAL(eventfd_read)(fd, value);
  if (result == 0) {
    after_receiving(fd);
    lane::write(value, sizeof *value, CALLER);
  }
  return result;
}
INTERPOSE(int, eventfd_write, int fd, eventfd_t value) {
  before_sending(fd);
  return REAL(eventfd_write)(fd, value);
}
INTERPOSE(int, signalfd, int fd, const sigset_t* mask, int flags) {
  int const result = REAL(signalfd)(fd, mask, flags);
  if (result >= 0) made_signalfd(result, true);
  return result;
}

// --- Making and ending channels

INTERPOSE(int, pipe, int* ends) {
  int const result = REAL(pipe)(ends);
  if (result == 0) lane::write(ends, 2 * sizeof *ends, CALLER);
  return result;
}
INTERPOSE(int, pipe2, int* ends, int flags) {
  int const result = REAL(pipe2)(ends, flags);
  if (result == 0) lane::write(ends, 2 * sizeof *ends, CALLER);
  return result;
}
INTERPOSE(int, socketpair, int domain, int type, int protocol, int* ends) {
  int const result = REAL(socketpair)(domain, type, protocol, ends);
  if (result == 0) {
    made_pair(ends[0], ends[1]);
    lane::write(ends, 2 * sizeof *ends, CALLER);
  }
  return result;
}
INTERPOSE(int, listen, int fd, int backlog) {
  int const result = REAL(listen)(fd, backlog);
  if (const void* const object = connection_object(fd)) lane::release(object);
  return result;
}
INTERPOSE(int, connect, int fd, const sockaddr* to, socklen_t size) {
  const void* const object = connection_object(fd, to, size);
  if (object != nullptr) lane::release(object);
  int const result = REAL(connect)(fd, to, size);
  if (result == 0 && object != nullptr) lane::acquire(object);
  return result;
}
namespace {
int accepted(int listening, int fd, sockaddr* from, socklen_t* size, lane::Pc pc) {
  if (fd < 0) return fd;
  if (const void* const object = connection_object(listening)) lane::acquire(object);
  if (from != nullptr && size != nullptr) lane::write(size, sizeof *size, pc);
  return fd;
}
}  // namespace
INTERPOSE(int, accept, int fd, sockaddr* from, socklen_t* size) {
  return accepted(fd, REAL(accept)(fd, from, size), from, size, CALLER);
}
INTERPOSE(int, accept4, int fd, sockaddr* from, socklen_t* size, int flags) {
  return accepted(fd, REAL(accept4)(fd, from, size, flags), from, size, CALLER);
}
INTERPOSE(int, shutdown, int fd, int how) {
  before_sending(fd);
  return REAL(shutdown)(fd, how);
}
namespace {
// Whoever sees the end of the stream comes after this.
void closing(int fd) {
  before_sending(fd);
  closing_lockable(fd);
  closed(fd);
}
}  // namespace
INTERPOSE(int, close, int fd) {
  closing(fd);
  return REAL(close)(fd);
}

INTERPOSE(int, dup, int fd) {
  int const copy = REAL(dup)(fd);
  if (copy >= 0) duplicated(fd, copy);
  return copy;
}
INTERPOSE(int, dup2, int fd, int to) {
  if (fd != to) {  // closes it
    before_sending(to);
    closing_lockable(to);
  }
  int const copy = REAL(dup2)(fd, to);
  if (copy >= 0 && fd != to) duplicated(fd, copy);
  return copy;
}
INTERPOSE(int, dup3, int fd, int to, int flags) {
  before_sending(to);
  closing_lockable(to);
  int const copy = REAL(dup3)(fd, to, flags);
  if (copy >= 0) duplicated(fd, copy);
  return copy;
}
namespace {

// A lock of an open file description keeps threads apart that opened the file each for itself. The other
// kinds are the process's.
bool locks_description(int command) { return command == F_OFD_SETLK || command == F_OFD_SETLKW; }

template <class Call>
int controlled(int fd, int command, long argument, Call call) {
  if (command == F_SETFL && (argument & O_ASYNC) != 0) signals_tell_of_sending();
  bool const locks = locks_description(command) && argument != 0;
  FileLock wanted = FileLock::kNone;
  if (locks) {
    short const type = reinterpret_cast<const struct flock*>(argument)->l_type;
    if (type != F_UNLCK) wanted = type == F_WRLCK ? FileLock::kExclusive : FileLock::kShared;
    file_locking(fd, FileLockKind::kDescription, wanted);
  }
  int const result = call();
  if (result < 0) return result;
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) duplicated(fd, result);
  if (locks) file_locked(fd, FileLockKind::kDescription, wanted);
  return result;
}

}  // namespace
INTERPOSE(int, fcntl, int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  long const argument = va_arg(list, long);
  va_end(list);
  return controlled(fd, command, argument, [=] { return REAL(fcntl)(fd, command, argument); });
}
INTERPOSE(int, fcntl64, int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  long const argument = va_arg(list, long);
  va_end(list);
  return controlled(fd, command, argument, [=] { return REAL(fcntl64)(fd, command, argument); });
}

// --- System calls that a program makes by hand, and tells of (runtime/sanitizer_interface/system_calls.c)

DH_EXPORTED void __deadheat_syscall_received(int fd, void* buffer, ssize_t size, void* caller);
DH_EXPORTED void __deadheat_syscall_sending(int fd, const void* buffer, size_t size, void* caller);
DH_EXPORTED void __deadheat_syscall_closing(int fd);
DH_EXPORTED void __deadheat_syscall_filled(void* buffer, size_t size, void* caller);

void __deadheat_syscall_received(int fd, void* buffer, ssize_t size, void* caller) {
  received(fd, buffer, size, lane::Pc{reinterpret_cast<uintptr_t>(caller)});
}
void __deadheat_syscall_sending(int fd, const void* buffer, size_t size, void* caller) {
  sending(fd, buffer, size, lane::Pc{reinterpret_cast<uintptr_t>(caller)});
}
void __deadheat_syscall_closing(int fd) { closing(fd); }
void __deadheat_syscall_filled(void* buffer, size_t size, void* caller) {
  lane::write(buffer, size, lane::Pc{reinterpret_cast<uintptr_t>(caller)});
}
