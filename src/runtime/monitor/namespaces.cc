// unshare(2) and setns(2) are for processes of one thread, and the lane's helper (pace.h) is one more.
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>

#include "runtime/monitor/pace.h"
#include "runtime/platform/syscalls.h"

using namespace deadheat;

namespace {
int answer(long result) {
  if (!platform::failed(result)) return static_cast<int>(result);
  errno = static_cast<int>(-result);
  return -1;
}
}  // namespace

extern "C" __attribute__((visibility("default"))) int unshare(int flags) noexcept {
  monitor::pace_end_helper();
  return answer(platform::syscall6(SYS_unshare, flags));
}
extern "C" __attribute__((visibility("default"))) int setns(int fd, int kind) noexcept {
  monitor::pace_end_helper();
  return answer(platform::syscall6(SYS_setns, fd, kind));
}
