// New processes. fork is seen through its handlers (pthread_atfork), registered before anybody else can: so
// the lane prepares after all prepare handlers of the program (which may run instrumented code) and is ready
// again before its other handlers run.
//
// vfork is left alone: the child is, for us, its parent's thread that goes on a little in another process, in
// the same memory, while the parent sleeps. What ends such a child (_exit, exec) knows not to touch what is
// the parent's. posix_spawn, system and popen make their children inside libc, where nothing of the program
// runs; all of them, and fork, are something that is started outside (outside.h).
//
// clone with a memory of its own is a fork whose child starts elsewhere, also by way of syscall. One that
// borrows its parent's memory while the parent waits (CLONE_VFORK) is a vfork. One that shares memory and
// thread-local storage with a parent that goes on would be, for us and for libc alike, the same thread at two
// places at once: that is refused.
//
// exec ends the program without exit: what was found is written first.
#include <alloca.h>
#include <linux/sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/interpose/descriptors.h"
#include "runtime/interpose/exit.h"
#include "runtime/interpose/signals.h"
#include "runtime/interpose/start.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/print.h"
#include "runtime/platform/syscalls.h"

using namespace deadheat;
using namespace deadheat::interpose;

// What pthread_atfork calls for the library that it is linked into. It stands in the part of libc that is
// linked statically, which comes before the runtime where the program names its libraries itself
// (-nodefaultlibs -lc).
extern "C" int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(), void* library);

namespace {

__thread bool forking __attribute__((tls_model("initial-exec")));

void prepare() {
  child_starting();
  forking = true;
  ++thread_state.depth;
  signals_fork_prepare();
  file_locks_fork_prepare();
  descriptors_fork_prepare();
  lane::fork_preparing();
}
void in_parent() {
  lane::fork_parent();
  descriptors_fork_done();
  file_locks_fork_done();
  signals_fork_done();
  --thread_state.depth;
  forking = false;
}
void in_child() {
  thread_state.tid = 0;
  exit_fork_child();
  lane::fork_child();
  descriptors_fork_done();
  file_locks_fork_done();
  signals_fork_done();
  --thread_state.depth;
  forking = false;
}

// What the lane has found is written before the program is replaced. If the exec fails, the program goes on
// and so does the lane.
void before_exec() {
  if (!borrowed_process()) lane::before_exec();
}

}  // namespace

namespace deadheat::interpose {
void start_processes() { __register_atfork(prepare, in_parent, in_child, nullptr); }
}  // namespace deadheat::interpose

// Runs no atfork handlers. glibc's fork calls it too; in a static program that call comes through here.
INTERPOSE(pid_t, _Fork, void) {
  if (forking) return REAL(_Fork)();
  prepare();
  pid_t const result = REAL(_Fork)();
  if (result == 0) {
    in_child();
  } else {
    in_parent();
  }
  return result;
}

namespace {

struct Cloned {
  int (*routine)(void*);
  void* argument;
};

int run_cloned(void* argument) {
  Cloned const cloned = *static_cast<Cloned*>(argument);
  in_child();
  int const status = cloned.routine(cloned.argument);
  platform::syscall6(SYS_exit, finish_once(status));
  __builtin_unreachable();
}

bool has_own_memory(uint64_t flags) { return (flags & CLONE_VM) == 0; }

void refuse_shared_thread(uint64_t flags) {
  if ((flags & CLONE_VM) == 0 || (flags & (CLONE_VFORK | CLONE_SETTLS)) != 0) return;
  platform::die(
      70,
      "clone with CLONE_VM and neither CLONE_SETTLS nor CLONE_VFORK: the child would share its parent's "
      "thread-local storage, and could not be told from it; use pthread_create");
}

}  // namespace

// The last three are there only if `flags` ask for them; what is read otherwise is handed on, and not used.
INTERPOSE(int, clone, int (*routine)(void*), void* stack, int flags, void* argument, pid_t* parent_id,
          void* thread_area, pid_t* child_id) {
  auto const wanted = static_cast<uint64_t>(static_cast<unsigned>(flags));
  if (routine == nullptr || stack == nullptr || !has_own_memory(wanted)) {
    refuse_shared_thread(wanted);
    return REAL(clone)(routine, stack, flags, argument, parent_id, thread_area, child_id);
  }
  Cloned cloned{routine, argument};
  prepare();
  int const result = REAL(clone)(run_cloned, stack, flags, &cloned, parent_id, thread_area, child_id);
  int const error = errno;
  in_parent();
  errno = error;
  return result;
}

// Only for what makes a process: other system calls made this way are not seen.
INTERPOSE(long, syscall, long number, long a, long b, long c, long d, long e, long f) {
#ifdef DEADHEAT_LANE_MONITOR
  lane::release(nullptr);  // whatever it does
#endif
  bool forks = number == SYS_fork;
  if (number == SYS_clone) forks = has_own_memory(static_cast<uint64_t>(a)) && b == 0;
  if (number == SYS_clone3) {
    const auto* const arguments = reinterpret_cast<const clone_args*>(a);
    forks = has_own_memory(arguments->flags) && arguments->stack == 0;
  }
  if (!forks) return REAL(syscall)(number, a, b, c, d, e, f);
  prepare();
  long const result = REAL(syscall)(number, a, b, c, d, e, f);
  int const error = errno;
  if (result == 0) {
    in_child();
  } else {
    in_parent();
  }
  errno = error;
  return result;
}

INTERPOSE(int, execve, const char* path, char* const* arguments, char* const* environment) {
  before_exec();
  return REAL(execve)(path, arguments, environment);
}
INTERPOSE(int, execv, const char* path, char* const* arguments) {
  before_exec();
  return REAL(execv)(path, arguments);
}
INTERPOSE(int, execvp, const char* file, char* const* arguments) {
  before_exec();
  return REAL(execvp)(file, arguments);
}
INTERPOSE(int, execvpe, const char* file, char* const* arguments, char* const* environment) {
  before_exec();
  return REAL(execvpe)(file, arguments, environment);
}
INTERPOSE(int, fexecve, int fd, char* const* arguments, char* const* environment) {
  before_exec();
  return REAL(fexecve)(fd, arguments, environment);
}
INTERPOSE(int, execveat, int folder, const char* path, char* const* arguments, char* const* environment,
          int flags) {
  before_exec();
  return REAL(execveat)(folder, path, arguments, environment, flags);
}

// The forms with the arguments in the call: collected, then as above.
#define COLLECT_ARGUMENTS(first, list, arguments)                                    \
  va_list list;                                                                      \
  va_start(list, first);                                                             \
  size_t count = 1;                                                                  \
  while (va_arg(list, char*) != nullptr) ++count;                                    \
  va_end(list);                                                                      \
  auto** const arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  va_start(list, first);                                                             \
  arguments[0] = const_cast<char*>(first);                                           \
  for (size_t i = 1; i <= count; ++i) arguments[i] = va_arg(list, char*)

REPLACE(int, execl, const char* path, const char* first, ...) {
  COLLECT_ARGUMENTS(first, list, arguments);
  va_end(list);
  before_exec();
  return REAL(execv)(path, arguments);
}
REPLACE(int, execlp, const char* file, const char* first, ...) {
  COLLECT_ARGUMENTS(first, list, arguments);
  va_end(list);
  before_exec();
  return REAL(execvp)(file, arguments);
}
REPLACE(int, execle, const char* path, const char* first, ...) {
  COLLECT_ARGUMENTS(first, list, arguments);
  auto* const environment = va_arg(list, char* const*);
  va_end(list);
  before_exec();
  return REAL(execve)(path, arguments, environment);
}
