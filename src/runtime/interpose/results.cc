// Calls that fill a place of the program's with their result, and do nothing else that concerns us: each a
// write.
#include <arpa/inet.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/interpose/outside.h"
#include "runtime/interpose/strings.h"

using namespace deadheat;
using namespace deadheat::interpose;

// `place` is filled if `success`, which may look at `result`; then `and_then` is done first.
#define FILLS_AND(type, name, parameters, arguments, success, place, and_then) \
  INTERPOSE(type, name, PLAIN parameters) {                                    \
    type const result = REAL(name) arguments;                                  \
    if (!(success)) return result;                                             \
    and_then;                                                                  \
    if ((place) != nullptr) lane::write(place, sizeof *(place), CALLER);       \
    return result;                                                             \
  }
#define FILLS(type, name, parameters, arguments, success, place) \
  FILLS_AND(type, name, parameters, arguments, success, place, (void)0)
#define PLAIN(...) __VA_ARGS__

// --- Time
FILLS(time_t, time, (time_t* now), (now), result != -1, now)
FILLS(int, clock_gettime, (clockid_t clock, struct timespec* now), (clock, now), result == 0, now)
FILLS(int, clock_getres, (clockid_t clock, struct timespec* step), (clock, step), result == 0, step)
FILLS(int, gettimeofday, (struct timeval * now, void* zone), (now, zone), result == 0, now)
FILLS(int, nanosleep, (const struct timespec* wait, struct timespec* left), (wait, left),
      result != 0 && errno == EINTR, left)
FILLS(struct tm*, localtime_r, (const time_t* now, struct tm* to), (now, to), result != nullptr, to)
FILLS(struct tm*, gmtime_r, (const time_t* now, struct tm* to), (now, to), result != nullptr, to)
FILLS(clock_t, times, (struct tms * to), (to), result != -1, to)
INTERPOSE(size_t, strftime, char* to, size_t room, const char* format, const struct tm* when) {
  auto const pc = CALLER;
  lane::read(when, sizeof *when, pc);
  size_t const size = REAL(strftime)(to, room, format, when);
  if (size != 0) lane::write(to, size + 1, pc);
  return size;
}

// --- Files
FILLS(int, stat, (const char* path, struct stat* to), (path, to), result == 0, to)
FILLS(int, stat64, (const char* path, struct stat* to), (path, to), result == 0, to)
FILLS(int, lstat, (const char* path, struct stat* to), (path, to), result == 0, to)
FILLS(int, lstat64, (const char* path, struct stat* to), (path, to), result == 0, to)
FILLS(int, fstat, (int fd, struct stat* to), (fd, to), result == 0, to)
FILLS(int, fstat64, (int fd, struct stat* to), (fd, to), result == 0, to)
FILLS(int, fstatat, (int fd, const char* path, struct stat* to, int flags), (fd, path, to, flags),
      result == 0, to)
FILLS(int, fstatat64, (int fd, const char* path, struct stat* to, int flags), (fd, path, to, flags),
      result == 0, to)
INTERPOSE(ssize_t, readlink, const char* path, char* to, size_t room) {
  ssize_t const size = REAL(readlink)(path, to, room);
  if (size > 0) lane::write(to, static_cast<size_t>(size), CALLER);
  return size;
}

// --- Processes
#define WAITS(type, name, parameters, arguments, success, place) \
  FILLS_AND(type, name, parameters, arguments, success, place, heard_from_outside())
WAITS(pid_t, wait, (int* status), (status), result > 0, status)
WAITS(pid_t, waitpid, (pid_t process, int* status, int options), (process, status, options), result > 0,
      status)
WAITS(pid_t, wait4, (pid_t process, int* status, int options, struct rusage* usage),
      (process, status, options, usage), result > 0, status)
WAITS(int, waitid, (idtype_t type, id_t id, siginfo_t* info, int options), (type, id, info, options),
      result == 0, info)
FILLS(int, getrusage, (int who, struct rusage* usage), (who, usage), result == 0, usage)
FILLS(int, getrlimit, (int what, struct rlimit* limit), (what, limit), result == 0, limit)
FILLS(int, uname, (struct utsname * to), (to), result == 0, to)
INTERPOSE(int, gethostname, char* to, size_t room) {
  int const result = REAL(gethostname)(to, room);
  if (result == 0) lane::write(to, length(to, room - 1) + 1, CALLER);
  return result;
}

// --- Random bytes
INTERPOSE(ssize_t, getrandom, void* to, size_t size, unsigned flags) {
  ssize_t const got = REAL(getrandom)(to, size, flags);
  if (got > 0) lane::write(to, static_cast<size_t>(got), CALLER);
  return got;
}
INTERPOSE(int, getentropy, void* to, size_t size) {
  int const result = REAL(getentropy)(to, size);
  if (result == 0 && size != 0) lane::write(to, size, CALLER);
  return result;
}

// --- Sockets
namespace {
void filled(void* to, const socklen_t* size, socklen_t room, lane::Pc pc) {
  lane::write(const_cast<socklen_t*>(size), sizeof *size, pc);
  if (socklen_t const part = *size < room ? *size : room) lane::write(to, part, pc);
}
}  // namespace
INTERPOSE(int, getsockopt, int fd, int level, int option, void* to, socklen_t* size) {
  socklen_t const room = size != nullptr ? *size : 0;
  int const result = REAL(getsockopt)(fd, level, option, to, size);
  if (result == 0 && size != nullptr) filled(to, size, room, CALLER);
  return result;
}
INTERPOSE(int, getsockname, int fd, sockaddr* to, socklen_t* size) {
  socklen_t const room = size != nullptr ? *size : 0;
  int const result = REAL(getsockname)(fd, to, size);
  if (result == 0) filled(to, size, room, CALLER);
  return result;
}
INTERPOSE(int, getpeername, int fd, sockaddr* to, socklen_t* size) {
  socklen_t const room = size != nullptr ? *size : 0;
  int const result = REAL(getpeername)(fd, to, size);
  if (result == 0) filled(to, size, room, CALLER);
  return result;
}
INTERPOSE(const char*, inet_ntop, int family, const void* from, char* to, socklen_t room) {
  const char* const result = REAL(inet_ntop)(family, from, to, room);
  if (result != nullptr) lane::write(to, length(to) + 1, CALLER);
  return result;
}
