// The monitor lane's side of lane.h: every release stops monitors; accesses made by library calls start some.
#include "runtime/lane.h"
#include "runtime/plain_fibers.h"

#include "runtime/monitor/pace.h"
#include "runtime/monitor/report.h"
#include "runtime/monitor/table.h"
#include "runtime/monitor/thread.h"
#include "runtime/monitor/visible.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/modules.h"
#include "runtime/platform/options.h"
#include "runtime/platform/print.h"
#include "runtime/platform/raw_log.h"

namespace deadheat::lane {

void (*deliver_pending_signals)() = nullptr;
__thread uint32_t signals_pending __attribute__((tls_model("initial-exec"))) = 0;

using namespace deadheat::monitor;

// --- Start and end
// ------------------------------------------------------------------------------------------------------

namespace {
bool initialising;
bool finished;
}  // namespace

void initialise() {
  if (__atomic_exchange_n(&initialising, true, __ATOMIC_ACQ_REL)) return;
  KeepErrno const keep;
  platform::remember_standard_error();
  platform::options();
  platform::raw_log_is_of("monitor");
  threads_initialise();
  platform::raw_log_ask_for_suppressions();
  platform::remember_modules();
  if (platform::options().log != nullptr) {
    // At once, so that whoever asked for the log knows that this program is monitored.
    platform::Text nothing;
    platform::raw_write(nothing);
  }
}

int finish(int status) {
  if (__atomic_exchange_n(&finished, true, __ATOMIC_ACQ_REL)) return status;
  KeepErrno const keep;
  write_end(status);
  bool const told = platform::raw_log_finish();
  bool const simply_run = platform::options().log == nullptr;
  uint32_t const code = platform::options().exitcode;
  return simply_run && told && code != 0 && races_reported() != 0 ? static_cast<int>(code) : status;
}

namespace {
// Before any constructor, those of shared libraries included; glibc hands these functions main's arguments.
void before_everything(int, char**, char** environment) {
  platform::set_environment(environment);
  initialise();
}
__attribute__((section(".preinit_array"), used)) void (*const preinit)(int, char**,
                                                                       char**) = before_everything;

}  // namespace

// --- Accesses and memory
// ----------------------------------------------------------------------------------------------------

namespace {

// The code that called the interposed function: up from here, past the interposer's own frames, which have
// frame pointers.
Caller caller_at(Pc pc) {
  const auto* frame = static_cast<const uintptr_t*>(__builtin_frame_address(0));
  for (int i = 0; i < 5; ++i) {
    auto const* const next = reinterpret_cast<const uintptr_t*>(frame[0]);
    if (frame[1] == pc.value) return caller_of(frame);
    if (next <= frame || next - frame > 1024) break;
    frame = next;
  }
  return {pc.value, 0, 0};
}

// A caller is a place like any other.
uint32_t place_of(Pc pc) {
  return static_cast<uint32_t>((pc.value * 0x9E3779B97F4A7C15ull) >> 40) & kDhMonitorPlaceMask;
}
bool is_used_up(const Thread* thread, uint32_t place) {
  return thread->hot->used[place] >= __atomic_load_n(&__dh_monitor_gate, __ATOMIC_RELAXED);
}

__attribute__((noinline)) void accessed(const void* address, size_t size, AccessType type, Pc pc) {
  Thread* const thread = current_thread;
  if (thread == nullptr || thread->inside != 0 || thread->number == 0 || size == 0) return;
  if ((type == AccessType::kWrite ? thread->ignore_writes : thread->ignore_reads) != 0) return;
  uint32_t const place = place_of(pc);
  if (is_used_up(thread, place)) return;
  Inside const inside(thread);
  Cost const cost(thread);
  coming_by(thread, pc.value);
  if (platform::orders_by_itself(pc.value) || !may_start(thread, place)) return;
  start_range(thread, {reinterpret_cast<uintptr_t>(address), size, type, caller_at(pc), true});
}

}  // namespace

void read_slow(const void* address, size_t size, Pc pc) { accessed(address, size, AccessType::kRead, pc); }
void write_slow(void* address, size_t size, Pc pc) { accessed(address, size, AccessType::kWrite, pc); }

// What this thread did to the memory is ordered, by the allocator's own means, before what the next owner
// does: that is a release of the block, and only of the block. Others that monitor a part of it are in a
// region of an access to it right now, and nothing orders that access and this end: neither did they release
// anything since theirs, or what they do would not be monitored any more, nor can they have acquired what
// this thread releases only now.
void freeing_slow(void* address, size_t size, Pc pc) {
  Thread* const thread = current_thread;
  // Before the thread's beginning is over, libc frees what it allocated for it.
  if (address == nullptr || thread == nullptr || thread->hot == nullptr) return;
  auto const begin = reinterpret_cast<uintptr_t>(address);
  if (__dh_monitor_hot.active != 0) {
    Inside const inside(thread);
    thread->stopped_at = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    // More than the block: stopping too much is not wrong, and a thread that never releases would otherwise
    // search its monitors at every free for the rest of its life. All, if the window is over.
    if (inlined::gate_is_closed())
      stop_all(thread);
    else
      stop_within(thread, begin, ~uintptr_t{0});
    stopping_early(thread);
  }
  uint32_t const place = place_of(pc);
  if (size == 0 || thread->inside != 0 || thread->number == 0 || thread->ignore_writes != 0) return;
  if (is_used_up(thread, place)) return;
  Inside const inside(thread);
  Cost const cost(thread);
  if (platform::orders_by_itself(pc.value) || !may_start(thread, place)) return;
  look_at(thread, {begin, size, AccessType::kFree, caller_at(pc), true});
}

void unmapping_slow(void* address, size_t size) {
  Thread* const thread = current_thread;
  if (thread == nullptr) return;
  Inside const inside(thread);
  thread->stopped_at = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  auto const begin = reinterpret_cast<uintptr_t>(address);
  stop_within(thread, begin, begin + size);
}

// --- Order
// ------------------------------------------------------------------------------------------------------------------

// A signal handler acquires what its sender released, between any two instructions of the code it interrupts:
// whatever is monitored for an access that is still to come must end here. Ordinary code has no such monitors
// at an acquire, and those of accesses already made end a little early.
void acquire_slow() {
  Thread* const thread = current_thread;
  if (thread == nullptr) return;
  Inside const inside(thread);
  thread->stopped_at = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  stop_all_even_kept(thread);
  made_nothing(thread);
}

namespace {
// Did instrumented code call the interposed function that we are in? Others may release at any moment: a
// thread that is cancelled in the middle of a loop goes through libgcc's locks. What they were called for
// lies behind a call that was asked about.
bool is_called_by_program(const void* from) {
  const auto* frame = static_cast<const uintptr_t*>(from);
  for (int i = 0; i < 4; ++i) {
    if (!is_interposer(frame[1])) return i != 0 && is_visible_return(frame[1]);
    auto const* const next = reinterpret_cast<const uintptr_t*>(frame[0]);
    if (next <= frame || next - frame > 1024) return false;
    frame = next;
  }
  return false;
}
}  // namespace

void release_slow() {
  Thread* const thread = current_thread;
  if (thread == nullptr) return;
  Inside const inside(thread);
  thread->stopped_at = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  Cost const cost(thread);
  if (__builtin_expect(__atomic_load_n(&thread->waiting, __ATOMIC_RELAXED) != 0, 0) &&
      is_called_by_program(__builtin_frame_address(0)))
    passing(thread);
  stop_all(thread);
}

// --- Threads
// -----------------------------------------------------------------------------------------------------------------

struct ThreadStart : Thread {};
struct ThreadRef : Thread {};

ThreadStart* thread_creating(Pc pc) {
  initialise();
  Thread* const parent = current_thread;
  if (parent == nullptr) return nullptr;
  Inside const inside(parent);
  parent->stopped_at = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  if (is_visible_return(pc.value)) passing(parent);
  stop_all(parent);
  return static_cast<ThreadStart*>(thread_create(parent, pc.value));
}

void thread_create_failed(ThreadStart* start) {
  if (start == nullptr) return;
  Inside const inside(current_thread);
  thread_abandon(start);
}

void thread_started(ThreadStart* start) {
  if (start == nullptr) return;
  KeepErrno const keep;
  ++start->inside;
  thread_start(start);
  --start->inside;
}

void thread_finishing() {
  Thread* const thread = current_thread;
  if (thread == nullptr) return;
  ++thread->inside;
  thread->stopped_at = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  thread_finish(thread);
}

ThreadRef* thread_find(pthread_t handle) { return static_cast<ThreadRef*>(thread_by_handle(handle)); }

void thread_joined(ThreadRef* thread) {
  if (thread != nullptr) thread_join(thread);
}

// What waiting threads will know is the watch lane's business.
void thread_joining(ThreadRef*) {}
void condition_waiting(const volatile void*) {}
void condition_waited() {}
void thread_not_joined() {}
void waits_may_be_cut_short() {}

void thread_detached(ThreadRef* thread) {
  if (thread != nullptr) thread_detach(thread);
}

void thread_named(pthread_t handle, const char* name) {
  Thread* const thread = thread_by_handle(handle);
  if (thread == nullptr || name == nullptr) return;
  unsigned i = 0;
  for (; i + 1 < sizeof thread->info.name && name[i] != '\0'; ++i) thread->info.name[i] = name[i];
  thread->info.name[i] = '\0';
}

// --- Processes
// ---------------------------------------------------------------------------------------------------------------

// What the child does, and whoever hears of it, comes after what this thread did.
void fork_preparing() {
  if (Thread* const thread = current_thread) {
    Inside const inside(thread);
    thread->stopped_at = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    stop_all_even_kept(thread);
  }
  report_fork_preparing();
  threads_fork_preparing();
  pace_fork_preparing();
  platform::memory_fork_preparing();
}

void before_exec() { write_end(0); }

void fork_parent() {
  platform::memory_fork_done();
  pace_fork_parent();
  threads_fork_parent();
  report_fork_parent();
}

void fork_child() {
  platform::memory_fork_done();
  if (current_thread != nullptr) stop_all_even_kept(current_thread);
  table_fork_child();
  pace_fork_child();
  threads_fork_child(current_thread);
  report_fork_child();
  if (platform::options().log != nullptr) {
    platform::Text nothing;
    platform::raw_write(nothing);
  }
}

// --- Signals and annotations
// --------------------------------------------------------------------------------------------------

bool inside_runtime() { return current_thread != nullptr && current_thread->inside != 0; }

void ignore_begin(bool reads, bool writes) {
  Thread* const thread = current_thread;
  if (thread == nullptr) return;
  thread->ignore_reads += reads ? 1 : 0;
  thread->ignore_writes += writes ? 1 : 0;
}
void ignore_end(bool reads, bool writes) {
  Thread* const thread = current_thread;
  if (thread == nullptr) return;
  if (reads && thread->ignore_reads != 0) --thread->ignore_reads;
  if (writes && thread->ignore_writes != 0) --thread->ignore_writes;
}
// Releases stop monitors even if the program wants them ignored: what is ignored can only be missed.
void ignore_sync_begin() {}
void ignore_sync_end() {}

void libraries_loaded() { platform::remember_modules(); }

void benign_race(const volatile void* address, size_t size, const char*, Pc) {
  expect_benign(reinterpret_cast<uintptr_t>(address), size);
}

}  // namespace deadheat::lane
