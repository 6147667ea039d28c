#include "runtime/monitor/thread.h"

#include <errno.h>
#include <sys/resource.h>

#include "runtime/monitor/pace.h"
#include "runtime/monitor/report.h"
#include "runtime/monitor/table.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/options.h"
#include "runtime/platform/print.h"
#include "runtime/platform/spinlock.h"
#include "runtime/platform/syscalls.h"
#include "runtime/platform/unwind.h"

__thread DhMonitorHot __dh_monitor_hot;

namespace deadheat::monitor {

__thread Thread* current_thread = nullptr;

namespace {

using platform::SpinGuard;

platform::Spinlock registry_lock;
Thread* live_threads;
uint32_t live_count;
Thread* joinable_finished;  // ended, and may still be joined: found by handle
Statistics finished_statistics;

uint32_t created_count;

// --- Numbers.
Thread* of_number[kNumbers];
uint32_t number_hint = 1;

// 0 if all are taken.
uint32_t take_number(Thread* thread) {
  for (uint32_t i = 0; i + 1 < kNumbers; ++i) {
    uint32_t const number = 1 + (number_hint + i) % (kNumbers - 1);
    if (of_number[number] != nullptr) continue;
    __atomic_store_n(&of_number[number], thread, __ATOMIC_RELEASE);
    number_hint = number;
    return number;
  }
  return 0;
}

uint32_t unmonitored_count;

// REQUIRES: registry_lock. Said when it happens, and once: whoever leaves a server on reads its error output,
// and must not take the silence about these threads for an answer.
void tell_of_unmonitored() {
  if (unmonitored_count++ != 0) return;
  platform::warn("more than %u threads at a time: threads beyond the first %u are not monitored",
                 kNumbers - 1, kNumbers - 1);
}

void link_live(Thread* thread) {
  thread->next_live = live_threads;
  thread->previous_live = nullptr;
  if (live_threads != nullptr) live_threads->previous_live = thread;
  live_threads = thread;
  ++live_count;
}

// REQUIRES: registry_lock.
void end(Thread* thread) {
  if (thread->previous_live != nullptr)
    thread->previous_live->next_live = thread->next_live;
  else
    live_threads = thread->next_live;
  if (thread->next_live != nullptr) thread->next_live->previous_live = thread->previous_live;
  --live_count;
  thread_gives_up_number(thread);
  finished_statistics.add(thread->statistics);
  pace_threads(live_count);
}

Thread* new_thread() { return static_cast<Thread*>(platform::allocate(sizeof(Thread))); }

void set_stack_bounds(Thread* thread) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    thread->stack_low = reinterpret_cast<uintptr_t>(low);
    thread->stack_high = thread->stack_low + size;
  }
  pthread_attr_destroy(&attributes);
}

// A finished thread of the same handle has been joined already, and its joiner is about to tell: until then
// nobody may take it for this one, or it would be released twice.
void own_handle(Thread* thread) {
  pthread_t const self = pthread_self();
  SpinGuard const guard(registry_lock);
  for (Thread* t = joinable_finished; t != nullptr; t = t->next_live)
    if (t->handle_known && pthread_equal(t->handle, self) != 0) t->handle_known = false;
  thread->handle = self;
  thread->handle_known = true;
}

void bind(Thread* thread) {
  thread->hot = &__dh_monitor_hot;
  own_handle(thread);
  thread->info.os_id = platform::sys_gettid();
  thread->random = 0x9E3779B97F4A7C15ull * (thread->info.id + 1) ^ __builtin_ia32_rdtsc();
  current_thread = thread;
  // What the thread did before it was known may have shut places.
  *thread->hot = {};
}

}  // namespace

void Statistics::add(const Statistics& o) {
  starts += o.starts;
  points += o.points;
  ranges += o.ranges;
  strided += o.strided;
  dropped += o.dropped;
  lost += o.lost;
  replaced += o.replaced;
  releases += o.releases;
  invisible += o.invisible;
  cycles += o.cycles;
}

KeepErrno::KeepErrno() : saved_(errno) {}
KeepErrno::~KeepErrno() { errno = saved_; }

void Inside::deliver() {
  if (lane::deliver_pending_signals != nullptr) lane::deliver_pending_signals();
}

void thread_gives_up_number(const Thread* thread) {
  if (thread->number != 0 && of_number[thread->number] == thread)
    __atomic_store_n(&of_number[thread->number], nullptr, __ATOMIC_RELEASE);
}

Thread* thread_of_number(uint32_t number) { return __atomic_load_n(&of_number[number], __ATOMIC_ACQUIRE); }

void threads_initialise() {
  Thread* const main = new_thread();
  {
    SpinGuard const guard(registry_lock);
    main->info.id = created_count++;
    main->number = take_number(main);
    link_live(main);
  }
  bind(main);
  // The main thread's stack: grows downwards from here; exact bounds would need /proc, which sandboxes may
  // hide.
  rlimit limit{};
  size_t stack = size_t{8} << 20;
  if (!platform::failed(platform::sys_getrlimit(RLIMIT_STACK, &limit)) && limit.rlim_cur < (size_t{64} << 20))
    stack = limit.rlim_cur;
  auto const here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  auto const top =
      reinterpret_cast<uintptr_t>(platform::environment());  // the kernel put it above everything else
  main->stack_high = top > here ? top : here;
  main->stack_low = here - stack;
}

Thread* thread_create(Thread* parent, uintptr_t pc) {
  Thread* const thread = new_thread();
  Stack created{};
  created.count = platform::unwind_from(pc, created.pcs, Stack::kMax);
  if (created.count == 0) {
    created.count = 1;
    created.pcs[0] = pc;
  }
  SpinGuard const guard(registry_lock);
  thread->info.id = created_count++;
  thread->info.parent = parent->info.id;
  thread->info.created = created;
  thread->number = take_number(thread);
  if (thread->number == 0) tell_of_unmonitored();
  link_live(thread);
  pace_threads(live_count);
  return thread;
}

void thread_start(Thread* thread) {
  // libc allocates to answer: that is ours, not the program's.
  current_thread = thread;
  set_stack_bounds(thread);
  bind(thread);
}

void thread_finish(Thread* thread) {
  stop_all_even_kept(thread);
  ends_without(thread);
  *thread->hot = {};
  thread->hot = nullptr;
  current_thread = nullptr;
  SpinGuard const guard(registry_lock);
  end(thread);
  thread->finished = true;
  if (thread->detached) {
    platform::release(thread, sizeof(Thread));
  } else {
    thread->next_live = joinable_finished;
    joinable_finished = thread;
  }
}

void thread_abandon(Thread* thread) {
  SpinGuard const guard(registry_lock);
  end(thread);
  platform::release(thread, sizeof(Thread));
}

namespace {
// REQUIRES: registry_lock; the thread is on the list of finished, joinable threads.
void forget_finished(Thread* thread) {
  for (Thread** link = &joinable_finished; *link != nullptr; link = &(*link)->next_live) {
    if (*link != thread) continue;
    *link = thread->next_live;
    break;
  }
  platform::release(thread, sizeof(Thread));
}
}  // namespace

void thread_join(Thread* thread) { thread_detach(thread); }

void thread_detach(Thread* thread) {
  SpinGuard const guard(registry_lock);
  if (thread->finished)
    forget_finished(thread);
  else
    thread->detached = true;  // freed when it tells us of its end, if ever
}

Thread* thread_by_handle(pthread_t handle) {
  SpinGuard const guard(registry_lock);
  Thread* const lists[] = {joinable_finished, live_threads};
  for (Thread* list : lists) {
    for (Thread* t = list; t != nullptr; t = t->next_live) {
      if (t->handle_known && pthread_equal(t->handle, handle) != 0) return t;
    }
  }
  return nullptr;
}

uint32_t threads_created() { return __atomic_load_n(&created_count, __ATOMIC_RELAXED); }
uint32_t threads_unmonitored() { return __atomic_load_n(&unmonitored_count, __ATOMIC_RELAXED); }

int64_t stack_owner(uintptr_t address) {
  SpinGuard const guard(registry_lock);
  for (Thread* t = live_threads; t != nullptr; t = t->next_live) {
    if (address >= t->stack_low && address < t->stack_high) return t->info.id;
  }
  return -1;
}

Statistics total_statistics() {
  SpinGuard const guard(registry_lock);
  Statistics total = finished_statistics;
  for (Thread* t = live_threads; t != nullptr; t = t->next_live) total.add(t->statistics);
  return total;
}

void threads_fork_preparing() { registry_lock.lock(); }
void threads_fork_parent() { registry_lock.unlock(); }

void threads_fork_child(Thread* survivor) {
  // Only the forking thread lives on here.
  for (Thread* t = live_threads; t != nullptr;) {
    Thread* const next = t->next_live;
    if (t != survivor) end(t);
    t = next;
  }
  registry_lock.unlock();
}

}  // namespace deadheat::monitor
