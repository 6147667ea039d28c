#include "runtime/platform/tool_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>

#include "runtime/platform/options.h"
#include "runtime/platform/signal_mask.h"
#include "runtime/platform/syscalls.h"

namespace deadheat::platform {
namespace {

bool executable(const char* path) { return !failed(syscall6(SYS_access, reinterpret_cast<long>(path), 1)); }

// Runs in the new process, on its parent's stack while the parent waits: system calls only.
[[noreturn]] inline void become(const char* path, const char* const* arguments, const int* descriptors,
                                unsigned count) {
  syscall6(SYS_setsid);
  // By way of numbers above all that are wanted: where the program has closed its standard input, what is to
  // become one of them may have the number of another.
  long above[kMostToolDescriptors];
  for (unsigned i = 0; i < count; ++i) above[i] = syscall6(SYS_fcntl, descriptors[i], F_DUPFD, count);
  for (unsigned i = 0; i < count; ++i) syscall6(SYS_dup2, above[i], i);
  if (failed(syscall6(SYS_close_range, count, ~0u, 0))) {
    for (unsigned fd = count; fd < 1024; ++fd) sys_close(static_cast<int>(fd));
  }
  syscall6(SYS_execve, reinterpret_cast<long>(path), reinterpret_cast<long>(arguments),
           reinterpret_cast<long>(environment()));
  syscall6(SYS_exit_group, 127);
  __builtin_unreachable();
}

}  // namespace

const char* find_tool(const char* chosen) {
  const char* const places[] = {chosen, DEADHEAT_TOOL_PATH, "/usr/local/bin/deadheat", "/usr/bin/deadheat"};
  for (const char* place : places)
    if (place != nullptr && executable(place)) return place;
  return nullptr;
}

bool start_tool(const char* path, const char* const* arguments, const int* descriptors, unsigned count) {
  uint64_t mask = 0;
  block_all_signals(&mask);
  // Twice, so that the tool is nobody's child here: the first process sends no signal when it ends and is
  // invisible to the program's own wait(). Both share our memory until they are gone or run another program,
  // so nothing is copied.
  long const first = syscall6(SYS_clone, CLONE_VM | CLONE_VFORK, 0);
  if (first == 0) {
    long const second = syscall6(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0);
    if (second == 0) {
      set_signal_mask(mask);
      become(path, arguments, descriptors, count);
    }
    syscall6(SYS_exit, failed(second) ? 1 : 0);
  }
  int status = 1;
  if (!failed(first)) {
    while (syscall6(SYS_wait4, first, reinterpret_cast<long>(&status), 0x80000000l /* __WCLONE */, 0) ==
           -EINTR) {
    }
  }
  set_signal_mask(mask);
  return status == 0;
}

}  // namespace deadheat::platform
