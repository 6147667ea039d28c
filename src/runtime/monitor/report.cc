#include "runtime/monitor/report.h"

#include "runtime/platform/memory.h"
#include "runtime/platform/options.h"
#include "runtime/platform/print.h"
#include "runtime/platform/raw_log.h"
#include "runtime/platform/spinlock.h"

namespace deadheat::monitor {
namespace {

using platform::raw_write;
using platform::SpinGuard;
using platform::Text;

platform::Spinlock report_lock;
size_t known_count;

}  // namespace

uint64_t races_reported() { return __atomic_load_n(&known_count, __ATOMIC_RELAXED); }

void write_end(int status) {
  SpinGuard const guard(report_lock);
  if (platform::options().log == nullptr && known_count == 0) return;
  Statistics const s = total_statistics();
  Text line;
  line.append("{\"t\":\"end\",\"exit\":%d,\"statistics\":{\"threads\":%u,\"monitor_starts\":%lu}}\n", status,
              threads_created(), s.starts);
  raw_write(line);
}

void expect_benign(uintptr_t, size_t) {}

void report_fork_preparing() { report_lock.lock(); }
void report_fork_parent() { report_lock.unlock(); }
void report_fork_child() {
  platform::raw_log_fork_child();
  report_lock.unlock();
}

}  // namespace deadheat::monitor
