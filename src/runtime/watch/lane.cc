// The watch lane's side of lane.h.
#include "runtime/lane.h"

#include "runtime/platform/cache_line.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/modules.h"
#include "runtime/platform/options.h"
#include "runtime/platform/print.h"
#include "runtime/platform/raw_log.h"
#include "runtime/watch/access.h"
#include "runtime/watch/covered.h"
#include "runtime/watch/frame_stacks.h"
#include "runtime/watch/heap.h"
#include "runtime/watch/known_to_all.h"
#include "runtime/watch/library_frames.h"
#include "runtime/watch/life.h"
#include "runtime/watch/locks.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/quick_lock.h"
#include "runtime/watch/race_report.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/sync.h"
#include "runtime/watch/thread.h"
#include "runtime/watch/unwritable.h"

namespace deadheat::lane {

void (*deliver_pending_signals)() = nullptr;
__thread uint32_t signals_pending __attribute__((tls_model("local-exec"))) = 0;

using namespace deadheat::watch;

namespace {

bool is_alone() { return __atomic_load_n(&alone, __ATOMIC_RELAXED); }

// The thread to act for; null where nothing is to be done: not initialised, over, inside the runtime already,
// or alone (nobody to be ordered with: who is created later knows everything from the start).
Thread* acting() {
  if (is_alone()) return nullptr;
  Thread* const thread = current_or_adopt();
  return thread != nullptr && thread->inside == 0 ? thread : nullptr;
}

Thread* synchronising() {
  Thread* const thread = acting();
  if (thread == nullptr || thread->ignore_sync != 0) return nullptr;
  ++thread->statistics.sync_operations;
  return thread;
}

// Below, only the runtime's own system calls are made, which leave errno alone: KeepErrno stands where libc
// is asked.

uintptr_t number(const volatile void* p) { return reinterpret_cast<uintptr_t>(p); }

}  // namespace

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
  platform::raw_log_is_of("watch");
  threads_initialise();
  platform::raw_log_ask_for_suppressions();
  platform::remember_modules();
  if (platform::options().log != nullptr) {
    // At once, so that whoever asked for the log knows that this program is watched.
    platform::Text nothing;
    platform::raw_write(nothing);
  }
}

namespace {
// It must not look like "no races".
void tell_that_little_was_watched() {
  static const char text[] =
      "only what library calls do was watched: none of the program's own code was compiled with "
      "deadheat-cc or deadheat-c++";
  if (platform::options().log == nullptr) return platform::warn("%s", text);
  platform::Text line;
  line.append("{\"t\":\"note\",\"text\":\"%s\"}\n", text);
  platform::raw_write(line);
}
}  // namespace

int finish(int status) {
  if (__atomic_exchange_n(&finished, true, __ATOMIC_ACQ_REL)) return status;
  KeepErrno const keep;
  if (nothing_is_instrumented()) tell_that_little_was_watched();
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

template <bool kWrite>
__attribute__((always_inline)) inline void access_slowly(Thread* thread, uintptr_t at, size_t size, Pc pc) {
  ++thread->statistics.ranges;
  if (size <= 16 && thread->not_quick == 0 &&
      quick_access<kWrite>(thread, at, static_cast<uint32_t>(size), pc.value, 0, 0)) {
    return;
  }
  AccessType const type = kWrite ? AccessType::kWrite : AccessType::kRead;
  if (!check_access(thread, {at, size, type, pc.value})) ++thread->statistics.covered;
}
__attribute__((noinline)) void read_slowly(const void* address, size_t size, Pc pc) {
  if (platform::orders_by_itself(pc.value)) return;
  Thread* const thread = current_thread;
  Inside const inside(thread);
  DEADHEAT_LIBRARY_FRAMES(frames, thread, pc);
  access_slowly<false>(thread, number(address), size, pc);
}
__attribute__((noinline)) void write_slowly(void* address, size_t size, Pc pc) {
  if (platform::orders_by_itself(pc.value)) return;
  Thread* const thread = current_thread;
  Inside const inside(thread);
  DEADHEAT_LIBRARY_FRAMES(frames, thread, pc);
  access_slowly<true>(thread, number(address), size, pc);
}

// How much of the beginning needs nothing more. What is covered needs no stack, and so it does not matter
// whose library calls; what a program's own code has called has all its frames. REQUIRES: the thread may be
// quick.
template <bool kWrite>
__attribute__((always_inline)) inline size_t done_quickly(Thread* thread, uintptr_t at, size_t size, Pc pc) {
  if (size <= kMostAcross && is_known_as_instrumented(pc.value)) {
    if (quickest_across<kWrite>(thread, at, static_cast<uint32_t>(size), pc.value, 0, 0)) return size;
    if (size <= 16) return 0;
  }
  return skipped(size, first_uncovered(at, at + size, kWrite) - at);
}

// Who goes on slowly does so as if called by the interposer itself: frames are looked for from there
// (LibraryFrames).
__attribute__((noinline)) void read_uncovered(const void* address, size_t size, Pc pc) {
  Thread* const thread = acting();
  if (thread == nullptr || size == 0) return;
  if (thread->not_quick == 0) {
    size_t const done = done_quickly<false>(thread, number(address), size, pc);
    if (done >= size) {
      ++thread->statistics.ranges;
      return;
    }
    address = static_cast<const char*>(address) + done;
    size -= done;
  }
  [[clang::musttail]] return read_slowly(address, size, pc);
}
__attribute__((noinline)) void write_uncovered(void* address, size_t size, Pc pc) {
  Thread* const thread = acting();
  if (thread == nullptr || size == 0) return;
  if (thread->not_quick == 0) {
    size_t const done = done_quickly<true>(thread, number(address), size, pc);
    if (done >= size) {
      ++thread->statistics.ranges;
      return;
    }
    address = static_cast<char*>(address) + done;
    size -= done;
  }
  [[clang::musttail]] return write_slowly(address, size, pc);
}

}  // namespace

namespace {
// A system call may be given any number as an address, and says EFAULT; nobody's memory is there.
__attribute__((always_inline)) inline bool is_of_user_space(uintptr_t at, size_t size) {
  return __builtin_expect((at | size | (at + size)) >> (kDhChunkBits + kDhDirectoryBits) == 0, 1);
}
}  // namespace

// A few bytes that are covered: whoever asks, and from wherever, there is nothing to do. Asked here, where no
// register needs to be kept.
void read(const void* address, size_t size, Pc pc) {
  if (!is_of_user_space(number(address), size)) return;
  if (size <= kMostAcross && covered_across<false>(number(address), size)) return;
  [[clang::musttail]] return read_uncovered(address, size, pc);
}
void write(void* address, size_t size, Pc pc) {
  if (!is_of_user_space(number(address), size)) return;
  if (size <= kMostAcross && covered_across<true>(number(address), size)) return;
  [[clang::musttail]] return write_uncovered(address, size, pc);
}

bool code_is_seen(Pc pc) { return is_instrumented(pc.value); }

namespace {
// FatCells are locked meanwhile: no handler and no fork in between.
void clear_from_outside(uintptr_t address, size_t size, MemoryIs memory) {
  if (memory == MemoryIs::kGone) frame_stacks_end_in(address, size);
  Thread* const thread = current_thread;
  if (thread == nullptr || thread->inside != 0) return clear_shadow(address, size, memory);
  Inside const inside(thread);
  clear_shadow(address, size, memory);
}
}  // namespace

void allocated(void* address, size_t size, Pc pc) {
  if (address == nullptr) return;
  Thread* const thread = current_thread;  // memory of a thread that is not known yet is nobody's
  HeapBlock block{number(address), size, 0, 0};
  if (platform::orders_by_itself(pc.value)) {
    // Its end orders nothing that a program could rely on or be blamed for: it is not checked.
    block.thread = kHiddenBlock;
    clear_from_outside(block.address, size, MemoryIs::kInUse);
    heap_add(block);
    return;
  }
  if (thread == nullptr || thread->inside != 0) {
    clear_shadow(block.address, size);
    heap_add(block);
    return;
  }
  Inside const inside(thread);
  DEADHEAT_LIBRARY_FRAMES(frames, thread, pc);
  block.stack = stack_at(thread, pc.value, AccessType::kWrite, 0);
  block.thread = thread->info->id;
  clear_shadow(block.address, size);
  heap_add(block);
}

void usable(void* address, size_t size) {
  heap_extend(number(address), size, [](uintptr_t added, size_t length) {
    // From the first granule on that is not the program's already.
    uintptr_t const first = (added + 7) & ~uintptr_t{7};
    if (first < added + length) clear_from_outside(first, added + length - first, MemoryIs::kInUse);
  });
}

void freeing(void* address, Pc pc, MemoryThen then) {
  if (address == nullptr) return;
  HeapBlock block{};
  Thread* const thread = acting();
  if (thread == nullptr) {
    if (heap_remove(number(address), &block)) frame_stacks_end_in(block.address, block.size);
    return;
  }
  Inside const inside(thread);
  thread->walked.forget();
  DEADHEAT_LIBRARY_FRAMES(frames, thread, pc);
  if (!heap_at(number(address), &block)) {
    check_second_free(thread, number(address), pc.value);
    return;
  }
  // Checked while the block is still known, so that a report can say what it was.
  if (block.thread != kHiddenBlock) {
    if (__builtin_expect(then == MemoryThen::kIsUnmapped, 0))
      check_free_and_give_back(thread, block, pc.value);
    else
      check_free(thread, block, pc.value);
  }
  heap_remove(number(address), &block);
  frame_stacks_end_in(block.address, block.size);
}

void mapped(void* address, size_t size, Pc) {
  forget_unwritable(number(address), size);
  clear_from_outside(number(address), size, MemoryIs::kInUse);
}
void published(const void* address, size_t size) {
  clear_from_outside(number(address), size, MemoryIs::kInUse);
}
void mapped_unwritable(void* address, size_t size) { note_unwritable(number(address), size); }

void unmapping(void* address, size_t size, Pc pc) {
  forget_unwritable(number(address), size);
  Thread* const thread = acting();
  if (thread == nullptr) return clear_from_outside(number(address), size, MemoryIs::kGone);
  Inside const inside(thread);
  frame_stacks_end_in(number(address), size);
  // As with free: whoever touches it unordered races with its end.
  check_end_where_touched(thread, number(address), size, pc.value);
  clear_shadow(number(address), size, MemoryIs::kGone);
}

// --- Order
// ------------------------------------------------------------------------------------------------------------------

void acquire(const volatile void* object) {
  Thread* const thread = synchronising();
  if (thread == nullptr) return;
  Inside const inside(thread);
  sync_acquire(thread, object);
}

void release(const volatile void* object) {
  Thread* const thread = synchronising();
  if (thread == nullptr) return;
  Inside const inside(thread);
  sync_release(thread, object, false);
}

void release_store(const volatile void* object) {
  Thread* const thread = synchronising();
  if (thread == nullptr) return;
  Inside const inside(thread);
  sync_release(thread, object, true);
}

void forget(const volatile void* object) {
  Thread* const thread = acting();
  if (thread == nullptr) return;
  Inside const inside(thread);
  sync_forget(object);
}

// The read is part of what is done when the lock is acquired, because all of it is about the same two cache
// lines. These are asked for here, to come while the lock itself does. (Nothing is read by that, so that it
// does not matter what stands there by now.)
void lock_wanted(const void* lock, LockMode mode, Pc) {
  if (mode != LockMode::kExclusive) return;
  const DhCell* const cell = existing_cell(number(lock));
  if (cell == nullptr) return;
  const FatCell* const fat = quick::fat_of_lock(cell);
  if (fat == nullptr) return;
  platform::want_line(lock);
  platform::want_line(fat);
  if (Thread* const thread = current_thread) platform::want_line(thread->sync_hints.of(fat));
}
void lock_only_used(const void* lock, LockMode, Pc pc) { read(lock, 1, pc); }

namespace {

// The thread, if locks may be taken and released by the short way; null otherwise.
__attribute__((always_inline)) inline Thread* quick_thread() {
  Thread* const thread = current_thread;
  if (__builtin_expect(thread == nullptr, 0) || __builtin_expect(!thread->may_be_quick(), 0) ||
      __builtin_expect(is_alone(), 0))
    return nullptr;
  return thread;
}

__attribute__((noinline)) void lock_acquired_slowly(const volatile void* lock, LockMode mode, LockIs is,
                                                    Pc pc) {
  if (mode == LockMode::kShared && is_alone()) {
    // Somebody may be there by the time it is released, and then it matters what it was held for.
    if (Thread* const thread = current_or_adopt(); thread != nullptr && thread->inside == 0) {
      Inside const inside(thread);
      shared_lock_held(thread, lock, pc.value);
    }
    return;
  }
  Thread* const thread = acting();
  if (thread == nullptr) return;
  bool const is_read = is == LockIs::kObject && !platform::orders_by_itself(pc.value);
  if (thread->ignore_sync != 0) {
    if (is_read) read(const_cast<const void*>(lock), 1, pc);
    return;
  }
  ++thread->statistics.sync_operations;
  Inside const inside(thread);
  DEADHEAT_LIBRARY_FRAMES(frames, thread, pc);
  watch::lock_acquired(thread, lock, mode == LockMode::kShared, is_read, pc.value);
}

__attribute__((noinline)) void lock_releasing_slowly(const volatile void* lock, Pc) {
  if (is_alone()) {
    Thread* const thread = current_thread;
    if (thread == nullptr || thread->held_count == 0 || thread->inside != 0) return;
    Inside const inside(thread);
    lock_forgotten(thread, lock);
    return;
  }
  Thread* const thread = synchronising();
  if (thread == nullptr) return;
  Inside const inside(thread);
  watch::lock_releasing(thread, lock);
}

// Who goes on slowly does so as if called by the interposer itself: frames are looked for from there
// (LibraryFrames).
__attribute__((noinline)) void leave_and_acquire_slowly(const volatile void* lock, LockMode mode, LockIs is,
                                                        Pc pc) {
  Inside::leave(current_thread);
  [[clang::musttail]] return lock_acquired_slowly(lock, mode, is, pc);
}

// Functions of their own, so that each saves the registers that it needs.
template <LockMode kMode>
__attribute__((noinline)) void object_acquired(const volatile void* lock, LockMode, LockIs, Pc pc) {
  Thread* const thread = quick_thread();
  if (__builtin_expect(thread == nullptr, 0)) [[clang::musttail]]
    return lock_acquired_slowly(lock, kMode, LockIs::kObject, pc);
  Inside::enter(thread);
  if (__builtin_expect(!quick_lock_acquired < kMode == LockMode::kShared > (thread, lock, pc.value), 0))
      [[clang::musttail]]
    return leave_and_acquire_slowly(lock, kMode, LockIs::kObject, pc);
  ++thread->statistics.sync_operations;
  Inside::leave(thread);
}

template <bool kShared>
__attribute__((noinline)) void release_held(Thread* thread, const volatile void* lock, Pc pc) {
  Inside::enter(thread);
  bool const done = quick_lock_releasing<kShared>(thread, lock);
  if (__builtin_expect(done, 1)) ++thread->statistics.sync_operations;
  Inside::leave(thread);
  if (__builtin_expect(!done, 0)) lock_releasing_slowly(lock, pc);
}

}  // namespace

void lock_acquired(const volatile void* lock, LockMode mode, LockIs is, Pc pc) {
  if (__builtin_expect(is != LockIs::kObject, 0)) [[clang::musttail]]
    return lock_acquired_slowly(lock, mode, is, pc);
  if (__builtin_expect(mode == LockMode::kShared, 0)) [[clang::musttail]]
    return object_acquired<LockMode::kShared>(lock, mode, is, pc);
  [[clang::musttail]] return object_acquired<LockMode::kExclusive>(lock, mode, is, pc);
}

void lock_releasing(const volatile void* lock, Pc pc) {
  Thread* const thread = quick_thread();
  if (__builtin_expect(thread == nullptr || thread->held_count == 0, 0))
    return lock_releasing_slowly(lock, pc);
  if (__builtin_expect(releases_shared(thread), 0)) return release_held<true>(thread, lock, pc);
  release_held<false>(thread, lock, pc);
}

void lock_destroyed(const volatile void* lock) { forget(lock); }

void barrier_initialised(const volatile void* barrier, uint32_t participants) {
  // Also while alone: the count is needed later.
  Thread* const thread = current_or_adopt();
  if (thread == nullptr || thread->inside != 0) return;
  Inside const inside(thread);
  sync_forget(barrier);
  LockedSync const sync(barrier);
  if (sync) sync->participants = participants;
}

BarrierTicket barrier_arrive(const volatile void* barrier) {
  Thread* const thread = synchronising();
  if (thread == nullptr) return {0};
  Inside const inside(thread);
  publish(thread);
  LockedSync const sync(barrier);
  if (!sync || sync->participants == 0) return {0};
  if (sync->generation == nullptr) {
    sync->generation = platform::make<BarrierGeneration>();
    sync->generation->to_leave = sync->participants;
  }
  BarrierGeneration* const generation = sync->generation;
  generation->clock.join(thread->clock);
  // The last one to arrive closes it: who comes next belongs to the next generation.
  if (++generation->arrived == sync->participants) sync->generation = nullptr;
  return {reinterpret_cast<uint64_t>(generation)};
}

void barrier_leave(const volatile void*, BarrierTicket ticket) {
  auto* const generation = reinterpret_cast<BarrierGeneration*>(ticket.generation);
  if (generation == nullptr) return;
  Thread* const thread = current_thread;
  if (thread != nullptr) {
    Inside const inside(thread);
    if (thread->clock.join(generation->clock)) thread->learnt();
  }
  if (__atomic_sub_fetch(&generation->to_leave, 1, __ATOMIC_ACQ_REL) != 0) return;
  generation->clock.destroy();
  platform::destroy(generation);
}

void barrier_destroyed(const volatile void* barrier) { forget(barrier); }

// --- Threads
// -----------------------------------------------------------------------------------------------------------------

struct ThreadStart : Thread {};
struct ThreadRef : Thread {};

ThreadStart* thread_creating(Pc pc) {
  initialise();
  Thread* const parent = current_or_adopt();
  if (parent == nullptr) return nullptr;
  Inside const inside(parent);
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
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  if (thread->fiber) {  // ended without switching back
    fiber_switch(thread, home_of_current_thread(), true);
    thread = current_thread;
  }
  ++thread->inside;
  thread_finish(thread);
}

ThreadRef* thread_find(pthread_t handle) { return static_cast<ThreadRef*>(thread_by_handle(handle)); }

void thread_joined(ThreadRef* thread) {
  Thread* const joiner = current_or_adopt();
  if (thread == nullptr || joiner == nullptr) return;
  Inside const inside(joiner);
  thread_join(joiner, thread);
}

void thread_joining(ThreadRef* thread) {
  Thread* const joiner = current_or_adopt();
  if (thread == nullptr || joiner == nullptr) return;
  Inside const inside(joiner);
  watch::thread_joining(joiner, thread);
}

void thread_not_joined() {
  Thread* const joiner = current_thread;
  if (joiner == nullptr) return;
  Inside const inside(joiner);
  watch::thread_not_joined(joiner);
}

void condition_waiting(const volatile void* mutex) {
  Thread* const thread = acting();
  if (thread == nullptr || thread->ignore_sync != 0) return;
  __atomic_store_n(&thread->waits_with, mutex, __ATOMIC_RELEASE);
}

void condition_waited() {
  Thread* const thread = current_thread;
  if (thread != nullptr) __atomic_store_n(&thread->waits_with, nullptr, __ATOMIC_RELEASE);
}

void waits_may_be_cut_short() {
  Thread* const thread = current_thread;
  if (thread == nullptr) return watch::waits_may_be_cut_short();
  // A handler that came while the registry is locked would wait for it for ever.
  Inside const inside(thread);
  watch::waits_may_be_cut_short();
}

void thread_detached(ThreadRef* thread) {
  if (thread == nullptr) return;
  thread_detach(thread);
}

namespace {
void set_name(ThreadInfo* info, const char* name) {
  unsigned i = 0;
  for (; i + 1 < sizeof info->name && name[i] != '\0'; ++i) info->name[i] = name[i];
  info->name[i] = '\0';
}
}  // namespace

void thread_named(pthread_t handle, const char* name) {
  Thread* const thread = thread_by_handle(handle);
  if (thread != nullptr && name != nullptr) set_name(thread->info, name);
}

struct FiberRef : Thread {};

FiberRef* fiber_current() { return static_cast<FiberRef*>(current_or_adopt()); }

FiberRef* fiber_created(Pc pc) {
  Thread* const creator = current_or_adopt();
  if (creator == nullptr) return nullptr;
  Inside const inside(creator);
  Thread* const fiber = fiber_create(creator, pc.value);
  set_name(fiber->info, "fiber");
  return static_cast<FiberRef*>(fiber);
}

void fiber_switching(FiberRef* to, bool orders) {
  Thread* const from = current_or_adopt();
  if (from == nullptr || to == nullptr) return;
  // Not with Inside: who leaves is another one than who entered. Signals wait all the same.
  Inside::enter(from);
  ++to->inside;
  fiber_switch(from, to, orders);
  __atomic_store_n(&from->inside, 0u, __ATOMIC_RELEASE);
  Inside::leave(to);
}

void fiber_destroyed(FiberRef* fiber) {
  Thread* const thread = current_or_adopt();
  if (thread == nullptr || fiber == nullptr || fiber == thread) return;
  Inside const inside(thread);
  fiber_destroy(fiber);
}

void context_made(const void* stack, size_t size, const void* at) {
  Thread* const thread = current_or_adopt();
  if (thread == nullptr || thread->inside != 0) return;
  Inside const inside(thread);
  frame_stack_begin(number(stack), size, number(at));
}

void context_switching(const void* from, const void* to, bool is_over) {
  Thread* const thread = current_or_adopt();
  if (thread == nullptr || thread->inside != 0) return;
  Inside const inside(thread);
  frame_stack_switch(thread, number(from), number(to), is_over);
}

void fiber_named(FiberRef* fiber, const char* name) {
  if (fiber != nullptr && name != nullptr) set_name(fiber->info, name);
}

// --- Processes
// ---------------------------------------------------------------------------------------------------------------

void fork_preparing() {
  Thread* const thread = current_or_adopt();
  report_fork_preparing();
  threads_fork_preparing(thread);
  heap_fork_preparing();
  platform::memory_fork_preparing();
}

void before_exec() { write_end(0); }

void fork_parent() {
  platform::memory_fork_done();
  heap_fork_done();
  threads_fork_parent();
  report_fork_parent();
}

void fork_child() {
  platform::memory_fork_done();
  heap_fork_done();
  if (current_thread != nullptr)
    threads_fork_child(current_thread);
  else
    threads_fork_parent();
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
  Thread* const thread = current_or_adopt();
  if (thread == nullptr) return;
  thread->ignore_reads += reads ? 1 : 0;
  thread->ignore_writes += writes ? 1 : 0;
  thread->update_quick();
}
void ignore_end(bool reads, bool writes) {
  Thread* const thread = current_or_adopt();
  if (thread == nullptr) return;
  if (reads && thread->ignore_reads != 0) --thread->ignore_reads;
  if (writes && thread->ignore_writes != 0) --thread->ignore_writes;
  thread->update_quick();
}
void ignore_sync_begin() {
  waits_may_be_cut_short();  // who ignores what a mutex carries does not hand it on, either
  if (Thread* const thread = current_or_adopt()) {
    ++thread->ignore_sync;
    thread->update_quick();
  }
}
void ignore_sync_end() {
  Thread* const thread = current_or_adopt();
  if (thread != nullptr && thread->ignore_sync != 0) {
    --thread->ignore_sync;
    thread->update_quick();
  }
}

void library_closing() { platform::remember_modules(); }
void libraries_loaded() { platform::remember_modules(); }

void benign_race(const volatile void* address, size_t size, const char*, Pc) {
  expect_benign(number(address), size);
}

}  // namespace deadheat::lane
