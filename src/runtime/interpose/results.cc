// The commonest calls that fill a place of the program's: those that static programs have as well. The other
// files of results are only in dynamic ones.
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
#include "runtime/interpose/results.h"

using namespace deadheat;
using namespace deadheat::interpose;

// --- Time
TELLS(time_t, time, (time_t* now), (now), NOTHING, result != -1 && call.writes(now))
TELLS(int, clock_gettime, (clockid_t clock, struct timespec* now), (clock, now), NOTHING,
      result == 0 && call.writes(now))
TELLS(int, clock_getres, (clockid_t clock, struct timespec* step), (clock, step), NOTHING,
      result == 0 && call.writes(step))
TELLS(int, gettimeofday, (struct timeval * now, void* zone), (now, zone), NOTHING,
      result == 0 && call.writes(now))
TELLS(int, nanosleep, (const struct timespec* wait, struct timespec* left), (wait, left), call.reads(wait),
      result != 0 && errno == EINTR && call.writes(left))
TELLS(struct tm*, localtime_r, (const time_t* now, struct tm* to), (now, to), call.reads(now),
      result != nullptr && call.writes(to))
TELLS(struct tm*, gmtime_r, (const time_t* now, struct tm* to), (now, to), call.reads(now),
      result != nullptr && call.writes(to))
TELLS(clock_t, times, (struct tms * to), (to), NOTHING, result != -1 && call.writes(to))
INTERPOSE(size_t, strftime, char* to, size_t room, const char* format, const struct tm* when) {
  auto const pc = CALLER;
  lane::read(when, sizeof *when, pc);
  size_t const size = REAL(strftime)(to, room, format, when);
  if (size != 0) lane::write(to, size + 1, pc);
  return size;
}

// --- Files
TELLS(int, stat, (const char* path, struct stat* to), (path, to), NOTHING,
      call.path(path, result) && result == 0 && call.writes(to))
TELLS(int, stat64, (const char* path, struct stat* to), (path, to), NOTHING,
      call.path(path, result) && result == 0 && call.writes(to))
TELLS(int, lstat, (const char* path, struct stat* to), (path, to), NOTHING,
      call.path(path, result) && result == 0 && call.writes(to))
TELLS(int, lstat64, (const char* path, struct stat* to), (path, to), NOTHING,
      call.path(path, result) && result == 0 && call.writes(to))
TELLS(int, fstat, (int fd, struct stat* to), (fd, to), NOTHING, result == 0 && call.writes(to))
TELLS(int, fstat64, (int fd, struct stat* to), (fd, to), NOTHING, result == 0 && call.writes(to))
TELLS(int, fstatat, (int fd, const char* path, struct stat* to, int flags), (fd, path, to, flags), NOTHING,
      call.path(path, result) && result == 0 && call.writes(to))
TELLS(int, fstatat64, (int fd, const char* path, struct stat* to, int flags), (fd, path, to, flags), NOTHING,
      call.path(path, result) && result == 0 && call.writes(to))
INTERPOSE(ssize_t, readlink, const char* path, char* to, size_t room) {
  ssize_t const size = REAL(readlink)(path, to, room);
  if (size > 0) lane::write(to, static_cast<size_t>(size), CALLER);
  return size;
}

// --- Processes
namespace {
// A child that only stopped or goes on has not ended. Without a status nobody can have asked for those.
bool has_ended(const int* status) { return status == nullptr || WIFEXITED(*status) || WIFSIGNALED(*status); }
void waited(bool ended) {
  heard_from_outside();
  if (ended) child_has_ended();
}
}  // namespace
#define WAITS(type, name, parameters, arguments, success, ended, filled) \
  INTERPOSE(type, name, DH_PLAIN parameters) {                           \
    Call const call(CALLER);                                             \
    type const result = REAL(name) arguments;                            \
    if (success) waited(ended);                                          \
    (void)((success) && filled);                                         \
    return result;                                                       \
  }
WAITS(pid_t, wait, (int* status), (status), result > 0, true, call.writes(status))
WAITS(pid_t, wait3, (int* status, int options, struct rusage* usage), (status, options, usage), result > 0,
      has_ended(status), call.writes(status) && call.writes(usage))
WAITS(pid_t, waitpid, (pid_t process, int* status, int options), (process, status, options), result > 0,
      has_ended(status), call.writes(status))
WAITS(pid_t, wait4, (pid_t process, int* status, int options, struct rusage* usage),
      (process, status, options, usage), result > 0, has_ended(status),
      call.writes(status) && call.writes(usage))
WAITS(int, waitid, (idtype_t type, id_t id, siginfo_t* info, int options), (type, id, info, options),
      result == 0,
      (options & WNOWAIT) == 0 && (info == nullptr || info->si_code == CLD_EXITED ||
                                   info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED),
      call.writes(info))
TELLS(int, getrusage, (int who, struct rusage* usage), (who, usage), NOTHING,
      result == 0 && call.writes(usage))
TELLS(int, getrlimit, (int what, struct rlimit* limit), (what, limit), NOTHING,
      result == 0 && call.writes(limit))
TELLS(int, uname, (struct utsname * to), (to), NOTHING, result == 0 && call.writes(to))
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
