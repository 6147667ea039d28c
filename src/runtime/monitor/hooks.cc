// The hooks that are not hot, and the slow paths of those that are (src/runtime/monitor_abi.h).
#include "runtime/lane.h"
#include "runtime/monitor/pace.h"
#include "runtime/monitor/report.h"
#include "runtime/monitor/table.h"
#include "runtime/monitor/thread.h"
#include "runtime/monitor/visible.h"
#include "runtime/monitor_abi.h"
#include "runtime/platform/module_check.h"

using namespace deadheat;
using namespace deadheat::monitor;

#define DH_CALLER caller_of(__builtin_frame_address(0))
#define DH_PC reinterpret_cast<uintptr_t>(__builtin_return_address(0))

namespace {

// The thread to act for, or null.
Thread* acting() {
  Thread* const thread = current_thread;
  return thread != nullptr && thread->inside == 0 ? thread : nullptr;
}

// The thread to start monitors for, or null.
Thread* starting(uint32_t what) {
  Thread* const thread = acting();
  if (__builtin_expect(thread == nullptr || thread->number == 0, 0)) {
    // A thread that monitors nothing need not come here again.
    if (thread == nullptr ? current_thread == nullptr : true)
      __dh_monitor_hot.used[what & kDhMonitorPlaceMask] = ~uint64_t{0};
    return nullptr;
  }
  bool const writes = (what & kDhMonitorStrong) != 0;
  return (writes ? thread->ignore_writes : thread->ignore_reads) == 0 ? thread : nullptr;
}

AccessType type_of(uint32_t what) {
  return (what & kDhMonitorStrong) != 0 ? AccessType::kWrite : AccessType::kRead;
}

void start_at(const void* address, size_t size, uint32_t what, const Caller& from) {
  Thread* const thread = starting(what);
  if (thread == nullptr || size == 0) return;
  Inside const inside(thread);
  Cost const cost(thread);
  coming_by(thread, from.pc);
  if (!may_start(thread, what & kDhMonitorPlaceMask)) return;
  StartRequest const request{reinterpret_cast<uintptr_t>(address), size, type_of(what), from,
                             (what & kDhMonitorPrompt) != 0};
  if (size <= kDhMonitorMaxPoint)
    start_point(thread, request);
  else
    start_range(thread, request);
}

void stop_before_invisible(uintptr_t pc) {
  Thread* const thread = acting();
  if (thread == nullptr) return;
  thread->stopped_at = pc;
  Inside const inside(thread);
  Cost const cost(thread);
  ++thread->statistics.invisible;
  passing(thread);
  stop_all_even_kept(thread);
}

// While the gate is closed nobody starts a monitor, so those that are left from the last window meet nothing:
// whoever comes by here gives them up, or a thread that never releases would come by again and again.
void stop_if_over(Thread* thread) {
  if (__atomic_load_n(&__dh_monitor_gate, __ATOMIC_RELAXED) != 0) return;
  stop_all(thread);
  stopping_early(thread);
}

// Nothing that comes after a call of a function that is not known was certain before it.
void ask(bool visible, uintptr_t pc) {
  if (!visible) return stop_before_invisible(pc);
  Thread* const thread = acting();
  if (thread == nullptr) return;
  thread->stopped_at = pc;
  Inside const inside(thread);
  Cost const cost(thread);
  passing(thread);
  stop_if_over(thread);
}

void release_at(uintptr_t pc) {
  Thread* const thread = acting();
  if (thread == nullptr) return;
  Inside const inside(thread);
  Cost const cost(thread);
  thread->stopped_at = pc;
  passing(thread);
  stop_all(thread);
}

size_t size_of(uint32_t what) { return what >> kDhMonitorSizeShift & kDhMonitorSizeMask; }

}  // namespace

void __dh_module_init(uint32_t abi_version, const char* mode) {
  platform::check_module(abi_version, DEADHEAT_ABI_VERSION, mode, "monitor");
  lane::initialise();
}

void __dh_monitor_start_slow(const void* address, uint32_t what) {
  start_at(address, size_of(what), what, DH_CALLER);
}

void __dh_monitor_start_range(const void* address, size_t size, uint32_t what) {
  if (__dh_monitor_hot.used[what & kDhMonitorPlaceMask] >= __dh_monitor_gate) return;
  start_at(address, size, what, DH_CALLER);
}

void __dh_monitor_start_strided(const void* address, size_t size, int64_t stride, uint64_t count,
                                uint32_t what) {
  if (__dh_monitor_hot.used[what & kDhMonitorPlaceMask] >= __dh_monitor_gate) return;
  Thread* const thread = starting(what);
  if (thread == nullptr || count == 0 || size == 0) return;
  Inside const inside(thread);
  Cost const cost(thread);
  if (!may_start(thread, what & kDhMonitorPlaceMask)) return;
  Comb bytes{};
  if (!comb_of_loop(reinterpret_cast<uintptr_t>(address), size, stride, count, uintptr_t{1} << 47, &bytes))
    return;
  start_strided(thread,
                {bytes.address, bytes.size, type_of(what), DH_CALLER, false, bytes.stride, bytes.width});
}

void __dh_monitor_release_slow() { release_at(DH_PC); }

void __dh_monitor_release_ahead_slow() {
  __dh_monitor_ahead();
  release_at(DH_PC);
  __dh_monitor_kept();
}

void __dh_monitor_keep_slow(const void* address, uint32_t what) {
  Thread* const thread = starting(what);
  if (thread == nullptr) return;
  Inside const inside(thread);
  Cost const cost(thread);
  if (!may_start(thread, what & kDhMonitorPlaceMask)) return;
  keep_point(thread, {reinterpret_cast<uintptr_t>(address), size_of(what), type_of(what), DH_CALLER, false});
}

void __dh_monitor_kept_slow() {
  if (Thread* const thread = current_thread) end_keep(thread);
}

void __dh_monitor_calling_slow(const void* function) {
  ask(is_visible_function(reinterpret_cast<uintptr_t>(function)), DH_PC);
}

void __dh_monitor_calling_known_slow(const void* function) {
  ask(is_visible_or_library(reinterpret_cast<uintptr_t>(function)), DH_PC);
}

void __dh_monitor_returning_slow(const void* return_address) {
  if (return_address == nullptr || !is_visible_return(reinterpret_cast<uintptr_t>(return_address)))
    return stop_before_invisible(DH_PC);
  // What the caller is certain to access may lie behind this: nothing counts as made.
  Thread* const thread = acting();
  if (thread == nullptr) return;
  thread->stopped_at = DH_PC;
  Inside const inside(thread);
  stop_if_over(thread);
}
