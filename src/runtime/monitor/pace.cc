#include "runtime/monitor/pace.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "runtime/monitor/budget.h"
#include "runtime/monitor_abi.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/options.h"
#include "runtime/platform/signal_mask.h"
#include "runtime/platform/spinlock.h"
#include "runtime/platform/syscalls.h"

uint64_t __dh_monitor_gate;

namespace deadheat::monitor {

bool pace_measures;

namespace {

constexpr uint64_t kWhole = Budget::kWhole;  // shares are in hundredths of a percent
constexpr uint64_t kShortestWindowUs = 500;
constexpr uint64_t kTickUs = 2000;

platform::Spinlock gate_lock;
uint32_t live_threads = 1;
bool window_open = true;
bool helper_runs;
uint64_t tick = 1;
uint64_t spent_cycles;  // since the window opened
Pace pace;

// REQUIRES: gate_lock.
void set_gate() {
  uint32_t const cap = platform::options().monitor.cap;
  uint64_t const open = cap == 0 ? ~uint64_t{0} : (tick << kDhMonitorCountBits) + cap;
  __atomic_store_n(&__dh_monitor_gate, live_threads > 1 && window_open ? open : 0, __ATOMIC_RELAXED);
}

void set_window(bool open) {
  platform::SpinGuard const guard(gate_lock);
  window_open = open;
  if (open) ++tick;
  set_gate();
}

uint64_t now_us() {
  timespec t{};
  platform::syscall6(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&t));
  return static_cast<uint64_t>(t.tv_sec) * 1000000 + static_cast<uint64_t>(t.tv_nsec) / 1000;
}

// The helper's sleep: whoever wants it to end cuts it short.
uint32_t helper_to_end;
void sleep_us(uint64_t us) {
  if (__atomic_load_n(&helper_to_end, __ATOMIC_ACQUIRE) != 0) return;
  timespec t{static_cast<time_t>(us / 1000000), static_cast<long>(us % 1000000 * 1000)};
  platform::syscall6(SYS_futex, reinterpret_cast<long>(&helper_to_end), FUTEX_WAIT_PRIVATE, 0,
                     reinterpret_cast<long>(&t));
}

struct Random {
  uint64_t state;
  uint64_t below(uint64_t bound) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % bound;
  }
};

uint64_t process_us() {
  timespec t{};
  platform::syscall6(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, reinterpret_cast<long>(&t));
  return static_cast<uint64_t>(t.tv_sec) * 1000000 + static_cast<uint64_t>(t.tv_nsec) / 1000;
}

// Opens the gate for so long, tick by tick.
void open_for(uint64_t us) {
  bool const ticks = platform::options().monitor.cap != 0;
  uint64_t const end = now_us() + us;
  for (uint64_t now = end - us; now < end; now = now_us()) {
    set_window(true);
    uint64_t const left = end - now;
    sleep_us(ticks && left > kTickUs * 3 / 2 ? kTickUs : left);
  }
  set_window(false);
}

// --- The helper's end
//
// A process that has one thread again is to be one with one thread: unshare(2) and others refuse if it is
// not, and who looks at /proc wonders. So the helper ends when the program's last other thread has been gone
// for a while; not at once, or a program that has one thread after the other would have as many helpers.

constexpr uint64_t kAloneUs = 50'000;
constexpr size_t kStackBytes = size_t{64} << 10;
// The kernel clears a helper's when it is gone. Two, because the next may start while one leaves.
uint32_t helper_ids[2];
unsigned helpers_started;

// Gives back the stack it runs on.
[[noreturn]] void leave(char* stack) {
  __asm__ volatile(
      "syscall\n\t"
      "movl $60, %%eax\n\t"  // SYS_exit: this thread only
      "xorl %%edi, %%edi\n\t"
      "syscall\n\t"
      "ud2"
      :
      : "a"(SYS_munmap), "D"(stack), "S"(kStackBytes)
      : "rcx", "r11", "memory");
  __builtin_unreachable();
}

// Called now and then by the helper. `alone_since`: 0 while there is more than one thread.
void end_if_alone(char* stack, uint64_t* alone_since) {
  if (__atomic_load_n(&live_threads, __ATOMIC_RELAXED) > 1) {
    *alone_since = 0;
    return;
  }
  uint64_t const now = now_us();
  if (*alone_since == 0) *alone_since = now;
  bool const asked = __atomic_load_n(&helper_to_end, __ATOMIC_ACQUIRE) != 0;
  if (!asked && now - *alone_since < kAloneUs) return;
  {
    platform::SpinGuard const guard(gate_lock);
    if (live_threads > 1) return;
    helper_runs = false;
    window_open = true;
    helper_to_end = 0;
  }
  leave(stack);
}

[[noreturn]] void run_helper(char* stack) {
  uint64_t alone_since = 0;
  const platform::MonitorOptions& options = platform::options().monitor;
  while (options.budget == 0 && options.sample == kWhole) {
    end_if_alone(stack, &alone_since);
    set_window(true);
    sleep_us(kTickUs);
  }
  Random random{pace_clock() | 1};
  Budget budget(options.budget);
  uint64_t share = options.budget != 0 ? budget.open_share() : options.sample;
  uint64_t const mean_us = uint64_t{options.period_ms} * 1000;
  uint64_t worked_until = process_us();
  for (;;) {
    end_if_alone(stack, &alone_since);
    // Half to one and a half times the mean; longer if the window would become too short to show anything.
    uint64_t period = mean_us / 2 + random.below(mean_us);
    uint64_t window = period * share / kWhole;
    if (window < kShortestWindowUs) {
      period = period * kShortestWindowUs / (window + 1);
      window = kShortestWindowUs;
    }
    uint64_t const before = (period - window) / 2;
    sleep_us(before);
    uint64_t const worked_before = process_us();
    __atomic_store_n(&spent_cycles, uint64_t{0}, __ATOMIC_RELAXED);
    uint64_t const opened = now_us();
    uint64_t const opened_at = pace_clock();
    open_for(window);
    uint64_t const cycles = pace_clock() - opened_at;
    uint64_t const us = now_us() - opened;
    ++pace.windows;
    pace.open_us += us;
    if (options.budget != 0) {
      // From window to window: what was worked between them counts for the one before.
      uint64_t const worked_now = process_us();
      uint64_t const spent = __atomic_load_n(&spent_cycles, __ATOMIC_RELAXED);
      budget.add(worked_now - worked_until, worked_now - worked_before, spent * us / (cycles + 1));
      worked_until = worked_now;
      share = budget.open_share();
    }
    // A window that became longer than it should, because we were not woken, is made up for.
    uint64_t const late = us > window ? us - window : 0;
    sleep_us(period - window - before + late * (kWhole - share) / share);
  }
}

// REQUIRES: gate_lock.
void start_helper() {
  auto* const stack = static_cast<char*>(platform::try_map_pages(kStackBytes));
  if (stack == nullptr) return;
  uint64_t old = 0;
  platform::block_all_signals(&old);
  long const flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                     CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID;
  char* const top = stack + kStackBytes - 64;
  long result;
  // Two variables: clang puts whatever is named by a register's variable into that register, and into no
  // other.
  long const id = reinterpret_cast<long>(&helper_ids[helpers_started % 2]);
  register long child_id __asm__("r10") = id;
  // The new thread has an empty stack: it must not return from here.
  __asm__ volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "movq %[stack], %%rdi\n\t"
      "callq *%[run]\n\t"
      "ud2\n\t"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone), "D"(flags), "S"(top), "d"(id), [run] "r"(&run_helper), [stack] "r"(stack),
        "r"(child_id)
      : "rcx", "r11", "r8", "memory");
  platform::set_signal_mask(old);
  if (platform::failed(result))
    platform::sys_munmap(stack, kStackBytes);
  else
    helper_runs = true, ++helpers_started;
}

}  // namespace

// REQUIRES: one thread of the program lives, the caller.
void pace_end_helper() {
  {
    platform::SpinGuard const guard(gate_lock);
    if (!helper_runs || live_threads > 1) return;
    helper_to_end = 1;
  }
  platform::syscall6(SYS_futex, reinterpret_cast<long>(&helper_to_end), FUTEX_WAKE_PRIVATE, 1);
  // As pthread_join does: the kernel clears the word and wakes us when nothing of it is left.
  for (uint32_t& word : helper_ids) {
    for (uint32_t id = 0; (id = __atomic_load_n(&word, __ATOMIC_ACQUIRE)) != 0;)
      platform::syscall6(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT, static_cast<long>(id), 0);
  }
}

Pace current_pace() { return pace; }

void pace_threads(uint32_t live) {
  const platform::MonitorOptions& options = platform::options().monitor;
  platform::SpinGuard const guard(gate_lock);
  live_threads = live;
  bool const samples = options.budget != 0 || options.sample < kWhole;
  if (live > 1 && (samples || options.cap != 0) && !helper_runs) {
    window_open = !samples;
    pace_measures = options.budget != 0;
    start_helper();
  }
  set_gate();
}

bool may_start(Thread* thread, uint32_t place) {
  const platform::MonitorOptions& options = platform::options().monitor;
  uint64_t const gate = __atomic_load_n(&__dh_monitor_gate, __ATOMIC_RELAXED);
  if (gate == 0) return false;
  if (options.cap == 0) return true;
  uint64_t& used = thread->hot->used[place];
  uint64_t const base = gate >> kDhMonitorCountBits << kDhMonitorCountBits;
  bool const is_first = used < base;
  if (is_first) used = base;
  if (used >= gate) return false;
  if (options.random) {
    uint32_t& skip = thread->skip[place];
    auto const random = [&] {
      thread->random ^= thread->random << 13;
      thread->random ^= thread->random >> 7;
      thread->random ^= thread->random << 17;
      return static_cast<uint32_t>(thread->random >> 32);
    };
    // The gaps between a place's monitors grow, so that few of them reach far into a long loop.
    if (is_first) skip = random() % 8;
    if (skip != 0) {
      --skip;
      return false;
    }
    auto const count = static_cast<uint32_t>(used - base);
    skip = random() % (16u << (count < 12 ? count : 12));
  }
  ++used;
  return true;
}

void Cost::count() {
  // The call, and reading the clock, are part of it.
  uint64_t const cycles = pace_clock() - began_ + 40;
  thread_->statistics.cycles += cycles;
  pace_spent(cycles);
}

void pace_spent(uint64_t cycles) { __atomic_fetch_add(&spent_cycles, cycles, __ATOMIC_RELAXED); }

void pace_fork_preparing() { gate_lock.lock(); }
void pace_fork_parent() { gate_lock.unlock(); }
void pace_fork_child() {
  helper_runs = false;
  helper_ids[0] = helper_ids[1] = helper_to_end = 0;
  live_threads = 1;
  set_gate();
  gate_lock.unlock();
}

}  // namespace deadheat::monitor
