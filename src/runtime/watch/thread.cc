#include "runtime/watch/thread.h"

#include <errno.h>
#include <sys/resource.h>

#include "runtime/platform/memory.h"
#include "runtime/platform/options.h"
#include "runtime/platform/print.h"
#include "runtime/platform/spinlock.h"
#include "runtime/platform/unwind.h"
#include "runtime/watch/filter.h"
#include "runtime/watch/frame_stacks.h"
#include "runtime/watch/known_to_all.h"
#include "runtime/watch/shadow.h"

namespace {
// Threads the runtime has not met yet (created behind its back) push frames here until their first slow path;
// nobody ever reads these frames.
DhFrame unclaimed_frames[1 << 16];
}  // namespace

__thread DhHot __dh_hot = {0, unclaimed_frames, 0xff, kDhWriteBit | 0xff};

namespace deadheat::watch {

__thread Thread* current_thread = nullptr;
bool alone = true;
bool gate_closed = false;

namespace {

__thread bool thread_over __attribute__((tls_model("local-exec")));
bool initialised;

using platform::SpinGuard;

platform::Spinlock registry_lock;
Thread* live_threads;
uint32_t live_count;
Statistics finished_statistics;

// --- Thread infos, for reports.
constexpr uint32_t kInfoPieceBits = 10;
ThreadInfo* info_piece[1u << 14];
uint32_t info_count;

ThreadInfo* new_info() {
  uint32_t const id = info_count++;
  ThreadInfo*& piece = info_piece[(id >> kInfoPieceBits) & ((1u << 14) - 1)];
  if (piece == nullptr) {
    piece = static_cast<ThreadInfo*>(platform::allocate(sizeof(ThreadInfo) << kInfoPieceBits));
  }
  ThreadInfo* const info = &piece[id & ((1u << kInfoPieceBits) - 1)];
  *info = {};
  info->id = id;
  return info;
}

// --- Slots.
struct Incarnation {
  Incarnation* earlier;
  uint32_t first_clock;
  ThreadInfo* info;
};
Incarnation* slot_owner[kSlots];  // newest first
uint32_t slots_used = 1;          // slot 0 is nobody's

struct DeadSlot {
  DeadSlot* next;
  uint32_t slot;
  uint32_t last_clock;
};
DeadSlot* dead_slots;  // ended, and perhaps not yet observed by all
uint32_t dead_count;

bool observed_by_all(const DeadSlot& dead) {
  for (Thread* t = live_threads; t != nullptr; t = t->next_live) {
    if (t->clock.get(dead.slot) < dead.last_clock) return false;
  }
  return true;
}

void assign_slot(Thread* thread) {
  uint32_t slot = 0;
  uint32_t first_clock = 1;
  // A bounded search: with thousands of ended threads that nobody waits for, creation must not become
  // quadratic.
  DeadSlot** link = &dead_slots;
  for (int tries = 0; tries < 16 && *link != nullptr; ++tries) {
    DeadSlot* const dead = *link;
    if (dead->last_clock < kLastClock / 2 && observed_by_all(*dead)) {
      slot = dead->slot;
      first_clock = dead->last_clock + 1;
      *link = dead->next;
      platform::destroy(dead);
      --dead_count;
      break;
    }
    link = &dead->next;
  }
  if (slot == 0) {
    if (slots_used == kSlots) {
      platform::die(70, "too many threads: more than %u thread identities are in use at once", kSlots - 1);
    }
    slot = slots_used++;
  }
  auto* const incarnation = platform::make<Incarnation>();
  incarnation->earlier = slot_owner[slot];
  incarnation->first_clock = first_clock;
  incarnation->info = thread->info;
  slot_owner[slot] = incarnation;
  thread->slot = slot;
  ReadNotes::is_slot_of(slot, &thread->notes);
  thread->version = static_cast<uint64_t>(thread->info->id) << 40;  // never another thread's: see SyncVar
  thread->span.start(first_clock);
  // Its own past (of the slot's former owners) is ordered before everybody, and before itself.
  thread->clock.set(slot, first_clock - 1);
}

// REQUIRES: its notes are settled.
void retire_slot(Thread* thread) {
  ReadNotes::is_slot_of(thread->slot, nullptr);
  auto* const dead = platform::make<DeadSlot>();
  dead->slot = thread->slot;
  dead->last_clock = thread->span.used();
  dead->next = nullptr;
  DeadSlot** link = &dead_slots;
  // Appended at the end: the oldest are the likeliest to have been observed by all. Bounded like the search
  // above.
  for (int steps = 0; *link != nullptr && steps < 64; ++steps) link = &(*link)->next;
  dead->next = *link;
  *link = dead;
  ++dead_count;
}

void link_live(Thread* thread) {
  thread->next_live = live_threads;
  thread->previous_live = nullptr;
  if (live_threads != nullptr) live_threads->previous_live = thread;
  live_threads = thread;
  ++live_count;
}

void unlink_live(Thread* thread) {
  if (thread->previous_live != nullptr)
    thread->previous_live->next_live = thread->next_live;
  else
    live_threads = thread->next_live;
  if (thread->next_live != nullptr) thread->next_live->previous_live = thread->previous_live;
  --live_count;
}

// REQUIRES: registry_lock.
void update_alone() {
  bool now = live_count == 1 && !platform::options().count;
  if (now) {
    for (DeadSlot* d = dead_slots; d != nullptr && now; d = d->next) now = observed_by_all(*d);
  }
  __atomic_store_n(&alone, now, __ATOMIC_RELEASE);
  note_who_can_act(live_threads);
}

// The same after one more thread was created. REQUIRES: registry_lock.
void no_longer_alone() {
  __atomic_store_n(&alone, false, __ATOMIC_RELEASE);
  note_who_can_act(live_threads);
}

void map_frames(Thread* thread, size_t stack_bytes) {
  FrameStack* const stack = frame_stack_make(stack_bytes);
  if (stack == nullptr) platform::die(70, "out of memory: no room for a thread's shadow call stack");
  stack->is_run = stack->is_home = true;
  thread->frame_stack = thread->home_frames = stack;
  thread->frames = stack->frames;
  thread->frames_end = stack->end;
}

// Whose stack the thread runs on when it ends, if it is not its own, may go on in another one.
void free_frames(Thread* thread) {
  FrameStack* const now = thread->frame_stack;
  if (now != thread->home_frames) {
    now->next = thread->hot != nullptr ? thread->hot->next_frame : thread->suspended_at;
    __atomic_store_n(&now->is_run, false, __ATOMIC_RELEASE);
  }
  frame_stack_free(thread->home_frames);
  thread->frame_stack = thread->home_frames = nullptr;
  thread->frames = nullptr;
}

Thread* new_thread() {
  auto* const thread = static_cast<Thread*>(platform::allocate(sizeof(Thread)));
  thread->cache.node.begin();
  thread->cache.shape.begin();
  thread->quick.known.begin();
  return thread;
}

uint32_t threads_with_roomy_tables;
void free_tables(Thread* thread) {
  if (thread->roomy == nullptr) return;
  platform::sys_munmap(thread->roomy, sizeof(RoomyTables));
  __atomic_fetch_sub(&threads_with_roomy_tables, 1, __ATOMIC_RELAXED);
}

// Threads that ended but may still be joined: found by handle.
Thread* joinable_finished;

// REQUIRES: registry_lock.
void no_longer_joining(Thread* joiner) {
  if (joiner->joining != nullptr) joiner->joining->joiner = nullptr;
  joiner->joining = nullptr;
}

void free_thread(Thread* thread) {
  no_longer_joining(thread);
  if (thread->joiner != nullptr) thread->joiner->joining = nullptr;
  thread->clock.destroy();
  thread->fence_release.destroy();
  thread->fence_acquire.destroy();
  free_tables(thread);
  platform::release(thread, sizeof(Thread));
}

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
// nobody may take it for this one.
void own_handle(Thread* thread) {
  pthread_t const self = pthread_self();
  SpinGuard const guard(registry_lock);
  for (Thread* t = joinable_finished; t != nullptr; t = t->next_live)
    if (t->handle_known && pthread_equal(t->handle, self) != 0) t->handle_known = false;
  thread->handle = self;
  thread->handle_known = true;
}

__thread Thread* home __attribute__((tls_model("local-exec")));

void bind(Thread* thread) {
  home = thread;
  thread->hot = &__dh_hot;
  thread->hot->next_frame = thread->frames;
  own_handle(thread);
  thread->info->os_id = platform::sys_gettid();
  current_thread = thread;
  thread->publish_floor();
}

}  // namespace

void grow_tables(Thread* thread) {
  thread->cache.asked_in_vain = 0;
  if (thread->roomy != nullptr) return;
  if (__atomic_fetch_add(&threads_with_roomy_tables, 1, __ATOMIC_RELAXED) < RoomyTables::kMostThreads)
    thread->roomy = static_cast<RoomyTables*>(platform::try_map_pages(sizeof(RoomyTables)));
  if (thread->roomy == nullptr) {
    __atomic_fetch_sub(&threads_with_roomy_tables, 1, __ATOMIC_RELAXED);
    return;
  }
  thread->quick.known.grow(thread->roomy->known);
  thread->cache.node.grow(thread->roomy->node);
  thread->cache.shape.grow(thread->roomy->shape);
}

void Statistics::add(const Statistics& o) {
  slow_accesses += o.slow_accesses;
  covered += o.covered;
  ranges += o.ranges;
  atomics += o.atomics;
  sync_operations += o.sync_operations;
  labels += o.labels;
}

KeepErrno::KeepErrno() : saved_(errno) {}
KeepErrno::~KeepErrno() { errno = saved_; }

void Inside::deliver() {
  if (lane::deliver_pending_signals != nullptr) lane::deliver_pending_signals();
}

void Thread::publish_floor() {
  if (hot == nullptr) return;
  bool const inline_filter = spans_filter() && !platform::options().count;
  dh_set_floor(hot, inline_filter ? epoch().bits() << kDhEpochShift : kNoFloor);
  update_quick();
}

StackId current_frames(Thread* thread) {
  DhFrame* const end = thread->hot->next_frame;
  DhFrame* const base = thread->frames;
  if (end <= base || end > thread->frames_end) return 0;
  DhFrame* frame = end - 1;
  if (frame->context != 0) return frame->context;
  while (frame > base && frame[-1].context == 0) --frame;
  StackId context = frame > base ? frame[-1].context : 0;
  for (; frame < end; ++frame) {
    context = intern_frame(thread->cache, context, reinterpret_cast<uintptr_t>(frame->return_address));
    frame->context = context;
  }
  return context;
}

StackId stack_at(Thread* thread, uintptr_t pc, AccessType type, uint32_t size) {
  return intern_access(thread->cache, {current_frames(thread), pc, type, size, thread->lockset});
}

void publish_in_granule(Thread* thread) {
  if (tree_filter()) tree_message(thread);
  uint32_t const before = thread->span.label();
  thread->clock.set(thread->slot, thread->span.release());
  if (thread->span.label() != before) {
    ++thread->statistics.labels;
    thread->publish_floor();
  }
}

void publish(Thread* thread) {
  publish_in_granule(thread);
  renew_slot_if_needed(thread);
}

void renew_slot(Thread* thread) {
  // The thread becomes its own successor: its old identity ends here, ordered before everything it does from
  // now on.
  thread->notes.settle_all(thread, thread);
  SpinGuard const guard(registry_lock);
  thread->clock.set(thread->slot, thread->span.used());
  retire_slot(thread);
  assign_slot(thread);
  note_who_can_act(live_threads);
  thread->learnt();
  thread->publish_floor();
}

void threads_initialise() {
  Thread* const main = new_thread();
  rlimit limit{};
  size_t stack = size_t{8} << 20;
  if (!platform::failed(platform::sys_getrlimit(RLIMIT_STACK, &limit))) {
    stack = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > (size_t{64} << 20) ? size_t{64} << 20
                                                                                   : limit.rlim_cur;
  }
  map_frames(main, stack);
  {
    SpinGuard const guard(registry_lock);
    main->info = new_info();
    assign_slot(main);
    link_live(main);
    update_alone();
  }
  bind(main);
  // The main thread's stack: grows downwards from here; exact bounds would need /proc, which sandboxes may
  // hide.
  auto const here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  main->stack_high = (here + (size_t{1} << 20)) & ~uintptr_t{4095};
  main->stack_low = here - stack;
  __atomic_store_n(&initialised, true, __ATOMIC_RELEASE);
}

Thread* adopt_current() {
  if (thread_over || !__atomic_load_n(&initialised, __ATOMIC_ACQUIRE)) return nullptr;
  Thread* const thread = new_thread();
  {
    SpinGuard const guard(registry_lock);
    thread->info = new_info();
    // Nobody saw it being created, so nothing is known of what is ordered before it. Taking everything so far
    // as ordered can only hide what came before the adoption, never raise a false alarm.
    for (Thread* t = live_threads; t != nullptr; t = t->next_live) thread->clock.set(t->slot, t->span.used());
    for (DeadSlot* d = dead_slots; d != nullptr; d = d->next) thread->clock.set(d->slot, d->last_clock);
    link_live(thread);
    assign_slot(thread);
    thread->detached = true;
    no_longer_alone();
  }
  map_frames(thread, size_t{1} << 20);
  bind(thread);
  platform::warn("thread %d was not created by a call Deadheat knows; it is watched from here on",
                 thread->info->os_id);
  return thread;
}

namespace {
StackId unwound_stack_at(Thread* thread, uintptr_t pc) {
  constexpr unsigned kMax = 128;
  uintptr_t pcs[kMax];
  unsigned const count = platform::unwind_from(pc, pcs, kMax);
  if (count == 0) return stack_at(thread, pc, AccessType::kRead, 0);
  StackId frames = 0;
  for (unsigned i = count; i-- > 1;) frames = intern_frame(thread->cache, frames, pcs[i]);
  return intern_access(thread->cache, {frames, pc, AccessType::kRead, 0, thread->lockset});
}
}  // namespace

Thread* thread_create(Thread* parent, uintptr_t pc) {
  Thread* const thread = new_thread();
  thread->inside = 0;
  publish(parent);
  StackId const created = unwound_stack_at(parent, pc);
  SpinGuard const guard(registry_lock);
  thread->info = new_info();
  thread->info->parent = parent->info->id;
  thread->info->created = created;
  thread->clock.assign(parent->clock);
  link_live(thread);
  assign_slot(thread);
  no_longer_alone();
  return thread;
}

void thread_start(Thread* thread) {
  size_t stack = size_t{8} << 20;
  // libc allocates to answer: that is ours, not the program's.
  current_thread = thread;
  ++thread->inside;
  set_stack_bounds(thread);
  --thread->inside;
  if (thread->stack_high > thread->stack_low) stack = thread->stack_high - thread->stack_low;
  map_frames(thread, stack < (size_t{64} << 20) ? stack : size_t{64} << 20);
  bind(thread);
  // The stack was another thread's before: its variables are not ours. What is in use already (our own frames
  // and the thread-local variables above them) was not touched by instrumented code yet.
  clear_shadow(thread->stack_low, thread->stack_high - thread->stack_low);
}

void thread_finish(Thread* thread) {
  publish(thread);
  thread->notes.settle_all(thread, thread);
  free_frames(thread);
  thread->hot->next_frame = unclaimed_frames;
  thread->hot = nullptr;
  current_thread = nullptr;
  thread_over = true;
  SpinGuard const guard(registry_lock);
  finished_statistics.add(thread->statistics);
  no_longer_joining(thread);
  unlink_live(thread);
  retire_slot(thread);
  thread->finished = true;
  if (thread->detached) {
    free_thread(thread);
  } else {
    thread->next_live = joinable_finished;
    joinable_finished = thread;
  }
  update_alone();
}

Thread* home_of_current_thread() { return home; }

Thread* fiber_create(Thread* creator, uintptr_t pc) {
  Thread* const fiber = thread_create(creator, pc);
  map_frames(fiber, size_t{1} << 20);
  fiber->suspended_at = fiber->frames;
  fiber->info->os_id = creator->info->os_id;
  fiber->detached = true;
  fiber->fiber = true;
  return fiber;
}

void fiber_switch(Thread* from, Thread* to, bool orders) {
  if (from == to) return;
  if (orders) {
    publish(from);
    if (to->clock.join(from->clock)) to->learnt();
  }
  DhHot* const hot = from->hot;
  from->suspended_at = hot->next_frame;
  hot->next_frame = to->suspended_at;
  to->hot = hot;
  current_thread = to;
  to->publish_floor();
  // From here on `from` may go on in another OS thread.
  from->hot = nullptr;
}

void fiber_destroy(Thread* fiber) {
  fiber->notes.settle_all(current_thread, fiber);
  free_frames(fiber);
  SpinGuard const guard(registry_lock);
  finished_statistics.add(fiber->statistics);
  unlink_live(fiber);
  retire_slot(fiber);
  free_thread(fiber);
  update_alone();
}

void thread_abandon(Thread* thread) {
  SpinGuard const guard(registry_lock);
  unlink_live(thread);
  retire_slot(thread);
  free_thread(thread);
  update_alone();
}

namespace {
// REQUIRES: registry_lock; the thread is on the list of finished, joinable threads.
void forget_finished(Thread* thread) {
  for (Thread** link = &joinable_finished; *link != nullptr; link = &(*link)->next_live) {
    if (*link == thread) {
      *link = thread->next_live;
      break;
    }
  }
  free_thread(thread);
}
}  // namespace

void thread_joining(Thread* joiner, Thread* joined) {
  SpinGuard const guard(registry_lock);
  // Two who wait for one: that is the program's mistake, and only one of them can be right.
  if (joined->joiner != nullptr || joined == joiner) return;
  joiner->joining = joined;
  joined->joiner = joiner;
  note_who_can_act(live_threads);
}

void thread_not_joined(Thread* joiner) {
  SpinGuard const guard(registry_lock);
  no_longer_joining(joiner);
  note_who_can_act(live_threads);
}

void thread_join(Thread* joiner, Thread* joined) {
  SpinGuard const guard(registry_lock);
  no_longer_joining(joiner);
  if (joiner->clock.join(joined->clock)) joiner->learnt();
  joined->joined = true;
  if (joined->finished) {
    forget_finished(joined);
  } else {
    joined->detached = true;  // ended behind our back: freed when it tells us, if ever
  }
  update_alone();
}

void thread_detach(Thread* thread) {
  SpinGuard const guard(registry_lock);
  if (thread->finished)
    forget_finished(thread);
  else
    thread->detached = true;
}

Thread* thread_by_handle(pthread_t handle) {
  SpinGuard const guard(registry_lock);
  for (Thread* t = joinable_finished; t != nullptr; t = t->next_live) {
    if (t->handle_known && pthread_equal(t->handle, handle) != 0) return t;
  }
  for (Thread* t = live_threads; t != nullptr; t = t->next_live) {
    if (t->handle_known && pthread_equal(t->handle, handle) != 0) return t;
  }
  return nullptr;
}

ThreadInfo* thread_info_at(Epoch epoch) {
  for (Incarnation* i = slot_owner[epoch.slot()]; i != nullptr; i = i->earlier) {
    if (i->first_clock <= epoch.clock()) return i->info;
  }
  return thread_info(0);
}

ThreadInfo* thread_info(uint32_t id) {
  return &info_piece[(id >> kInfoPieceBits) & ((1u << 14) - 1)][id & ((1u << kInfoPieceBits) - 1)];
}

uint32_t threads_created() { return info_count; }

Statistics total_statistics() {
  SpinGuard const guard(registry_lock);
  Statistics total = finished_statistics;
  for (Thread* t = live_threads; t != nullptr; t = t->next_live) total.add(t->statistics);
  return total;
}

void visit_live(bool wait, LiveVisitor visit, void* argument) {
  if (wait)
    registry_lock.lock();
  else if (!registry_lock.try_lock())
    return;
  visit(live_threads, live_count, slots_used, argument);
  registry_lock.unlock();
}

void Inside::wait_at_gate(Thread* thread) {
  while (__atomic_load_n(&gate_closed, __ATOMIC_SEQ_CST)) {
    __atomic_store_n(&thread->inside, 0u, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&gate_closed, __ATOMIC_RELAXED)) platform::sys_yield();
    __atomic_store_n(&thread->inside, 1u, __ATOMIC_SEQ_CST);
  }
}

namespace {
// Makes every thread of the process see the gate before it next decides; without kernel support, a fence here
// and the yields below have to do.
void barrier_on_all_threads() {
  constexpr long kPrivateExpedited = 1 << 3;
  constexpr long kRegisterPrivateExpedited = 1 << 4;
  platform::syscall6(SYS_membarrier, kRegisterPrivateExpedited);
  platform::syscall6(SYS_membarrier, kPrivateExpedited);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
}  // namespace

void threads_fork_preparing(Thread* forker) {
  while (__atomic_exchange_n(&gate_closed, true, __ATOMIC_SEQ_CST)) platform::sys_yield();
  barrier_on_all_threads();
  registry_lock.lock();
  for (Thread* t = live_threads; t != nullptr;) {
    if (t == forker || __atomic_load_n(&t->inside, __ATOMIC_SEQ_CST) == 0) {
      t = t->next_live;
      continue;
    }
    // It may itself be waiting for the registry; and it may have ended when we have the registry again, so
    // the list is walked from its beginning.
    registry_lock.unlock();
    platform::sys_yield();
    registry_lock.lock();
    t = live_threads;
  }
}

void threads_fork_parent() {
  registry_lock.unlock();
  __atomic_store_n(&gate_closed, false, __ATOMIC_SEQ_CST);
}

namespace {
// In the child of a fork: fibers that nobody was running, and what this OS thread started with.
bool may_go_on(const Thread* thread) { return thread->hot == nullptr && (thread->fiber || thread == home); }
}  // namespace

void threads_fork_child(Thread* survivor) {
  // Only the forking thread lives on here. What the others did before is not ordered with what the survivor
  // does, but nobody is left to race with; their memory is a private copy.
  for (Thread* t = live_threads; t != nullptr;) {
    Thread* const next = t->next_live;
    if (t != survivor) survivor->clock.set(t->slot, t->span.used());
    if (t != survivor && !may_go_on(t)) {
      t->notes.settle_all(survivor, t);
      no_longer_joining(t);
      unlink_live(t);
      retire_slot(t);
    }
    t = next;
  }
  for (DeadSlot* d = dead_slots; d != nullptr; d = d->next) {
    if (survivor->clock.get(d->slot) < d->last_clock) survivor->clock.set(d->slot, d->last_clock);
  }
  survivor->learnt();
  for (Thread* t = live_threads; t != nullptr; t = t->next_live) {
    if (t != survivor && t->clock.join(survivor->clock)) t->learnt();
  }
  update_alone();
  threads_fork_parent();
}

}  // namespace deadheat::watch
