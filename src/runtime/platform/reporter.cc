#include "runtime/platform/reporter.h"

#include <poll.h>
#include <time.h>

#include "runtime/platform/options.h"
#include "runtime/platform/print.h"
#include "runtime/platform/syscalls.h"
#include "runtime/platform/tool_process.h"

namespace deadheat::platform {
namespace {

constexpr unsigned kWaitMilliseconds = 20000;

}  // namespace

bool start_reporter(const char* tool, Reporter* reporter) {
  if (!standard_error_intact()) return false;  // nowhere to print to
  const char* const path = find_tool(tool);
  if (path == nullptr) return false;

  int data[2];
  int done[2];
  if (failed(syscall6(SYS_pipe2, reinterpret_cast<long>(data), O_CLOEXEC))) return false;
  if (failed(syscall6(SYS_pipe2, reinterpret_cast<long>(done), O_CLOEXEC))) {
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the kernel has filled it
    sys_close(data[0]);
    sys_close(data[1]);
    return false;
  }

  const char* const arguments[] = {path, "report-raw", "--done", "3", "0", nullptr};
  int const descriptors[] = {data[0], 2, 2, done[1]};
  bool const started = start_tool(path, arguments, descriptors, 4);
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the kernel has filled it
  sys_close(data[0]);
  sys_close(done[1]);
  if (!started) {
    sys_close(data[1]);
    sys_close(done[0]);
    return false;
  }
  reporter->pipe = data[1];
  reporter->done = done[0];
  return true;
}

bool finish_reporter(Reporter* reporter) {
  bool has_printed = true;
  sys_close(reporter->pipe);
  reporter->pipe = -1;
  timespec now{};
  syscall6(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&now));
  int64_t const deadline = now.tv_sec * 1000 + now.tv_nsec / 1000000 + kWaitMilliseconds;
  for (;;) {
    syscall6(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&now));
    int64_t const left = deadline - (now.tv_sec * 1000 + now.tv_nsec / 1000000);
    if (left <= 0) break;
    pollfd waiting{reporter->done, POLLIN, 0};
    long const ready = syscall6(SYS_poll, reinterpret_cast<long>(&waiting), 1, left);
    if (ready == -EINTR) continue;
    if (ready <= 0) break;
    char byte;
    if (sys_read(reporter->done, &byte, 1) <= 0) break;
    has_printed = false;
  }
  sys_close(reporter->done);
  reporter->done = -1;
  return has_printed;
}

}  // namespace deadheat::platform
