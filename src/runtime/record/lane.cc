// The record lane's side of lane.h: every synchronisation becomes a sequencer, everything else a note.
//
// Interposers run while the thread is invisible, inside a call that instrumented code made or in code that is
// not instrumented at all. So what they tell has a place in the thread's log: between two values.
#include "runtime/lane.h"
#include "runtime/plain_fibers.h"
#include "runtime/record_faults.h"

#include <pthread.h>
#include <time.h>

#include "runtime/platform/memory.h"
#include "runtime/platform/modules.h"
#include "runtime/platform/options.h"
#include "runtime/platform/print.h"
#include "runtime/platform/spinlock.h"
#include "runtime/platform/syscalls.h"
#include "runtime/record/arena.h"
#include "runtime/record/atomics.h"
#include "runtime/record/modules.h"
#include "runtime/record/stream.h"

namespace deadheat::lane {

void (*deliver_pending_signals)() = nullptr;
__thread uint32_t signals_pending __attribute__((tls_model("initial-exec"))) = 0;

using namespace deadheat::record;

struct ThreadStart {
  uint32_t number;
  uint32_t parent;
  pthread_t handle;
  bool started;
  ThreadStart* next;
};
struct ThreadRef : ThreadStart {};

namespace {

ThreadStart* threads;  // that can still be joined
platform::Spinlock threads_lock;

uint64_t number(const volatile void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// The record to log to; null where nothing is to be logged. Without an arena nothing is, whatever the record
// says: in a static program libc calls interposed functions before it calls us, and nobody has said then that
// nothing is recorded.
DhRecord* logging() {
  DhRecord* const record = __dh_record;
  return arena != nullptr && record->is_off == 0 && record->inside == 0 ? record : nullptr;
}

void log_now(uint8_t kind, const volatile void* object, uint64_t extra = 0) {
  DhRecord* const record = logging();
  if (record == nullptr) return;
  Inside const inside(record);
  sequence(record, kind, number(object), extra);
}

void log_now_if_at_rest(DhRecord* record) {
  if (record->invisible != 0) log_now(kThreadFinishing, nullptr);
}

// Where the call stands in the program is not logged: replay knows which call it is.
void log_access(uint8_t kind, const void* address, size_t size) {
  DhRecord* const record = logging();
  if (record == nullptr || size == 0) return;
  Inside const inside(record);
  if (record->waiting_read != 0) log_waiting_read(record);
  if (kind == 0 && size == 1) {
    record->waiting_read = number(address);
    record->waiting_read_run = record->run;
    return;
  }
  Item item(record, kTagAccess);
  item.byte(kind);
  item.signed_varint(number(address) - record->last_object);
  record->last_object = number(address);
  item.varint(size);
  item.varint(0);
}

void log_note(uint8_t kind, uint64_t a, uint64_t b, Pc pc) {
  DhRecord* const record = logging();
  if (record == nullptr) return;
  Inside const inside(record);
  Item item(record, kTagNote);
  item.byte(kind);
  item.varint(a);
  item.varint(b);
  item.varint(pc.value);
}

uint64_t clock_nanoseconds(long clock) {
  timespec now = {};
  platform::syscall6(SYS_clock_gettime, clock, reinterpret_cast<long>(&now));
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

bool initialising;
bool finished;
uint64_t wall_at_start;

}  // namespace

// --- Start and end

void initialise() {
  if (__atomic_exchange_n(&initialising, true, __ATOMIC_ACQ_REL)) return;
  platform::remember_standard_error();
  prepare_discard();
  const platform::Options& options = platform::options();
  if (options.record == nullptr) {
    if (!options.quiet)
      platform::warn(
          "this program is built for recording and is not being recorded: run it by "
          "deadheat run --mode record --out FOLDER --, or set DEADHEAT_OPTIONS=record=FOLDER");
    return;
  }
  wall_at_start = clock_nanoseconds(CLOCK_MONOTONIC);
  int const descriptor = options.arena >= 0 ? options.arena : start_writer(options.tool, options.record);
  if (descriptor < 0 || !attach(descriptor)) return;
  set_module_folder(options.record);
  // The main thread too may be joined.
  auto* const main = platform::make<ThreadStart>();
  main->handle = pthread_self();
  threads = main;
}

int finish(int status) {
  if (__atomic_exchange_n(&finished, true, __ATOMIC_ACQ_REL) || arena == nullptr) return status;
  DhRecord* const record = __dh_record;
  // Also a digest of the last region, unless a signal ends the process in the middle of one.
  if (record != &discard) log_now_if_at_rest(record);
  Inside const inside(record);
  end_stream(record, kProcessEnded, status);
  arena->wall_nanoseconds = clock_nanoseconds(CLOCK_MONOTONIC) - wall_at_start;
  arena->cpu_nanoseconds = clock_nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  arena->status = status;
  __atomic_store_n(&arena->finished, 1u, __ATOMIC_RELEASE);
  return status;
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

void read(const void* address, size_t size, Pc) { log_access(0, address, size); }

void write(void* address, size_t size, Pc pc) {
  if (!platform::orders_by_itself(pc.value)) log_access(1, address, size);
}

void allocated(void* address, size_t size, Pc pc) {
  if (address == nullptr || platform::orders_by_itself(pc.value)) return;
  log_now(kAllocated, address, size);
}
void usable(void* address, size_t size) { log_now(kUsable, address, size); }
void freeing(void* address, Pc pc, MemoryThen) {
  if (address != nullptr && !platform::orders_by_itself(pc.value)) log_now(kFreeing, address);
}
void mapped(void* address, size_t size, Pc) { log_now(kMapped, address, size); }
// To analyses, memory that begins here.
void published(const void* address, size_t size) { log_now(kMapped, address, size); }
void unmapping(void* address, size_t size, Pc) { log_now(kUnmapping, address, size); }

// --- Order

void acquire(const volatile void* object) { log_now(kAcquire, object); }
void release(const volatile void* object) { log_now(kRelease, object); }
void release_store(const volatile void* object) { log_now(kReleaseStore, object); }
void forget(const volatile void* object) { log_now(kForget, object); }

void lock_wanted(const void* lock, LockMode, Pc pc) { read(lock, 1, pc); }
void lock_only_used(const void*, LockMode, Pc) {}
void lock_acquired(const volatile void* lock, LockMode mode, LockIs, Pc) {
  log_now(kLockAcquired, lock, mode == LockMode::kShared ? 1 : 0);
}
void lock_releasing(const volatile void* lock, Pc) { log_now(kLockReleasing, lock); }
void lock_destroyed(const volatile void* lock) { log_now(kLockDestroyed, lock); }

// A barrier's generations are counted here, so that a replay needs no model of barriers.
namespace {

struct Barrier {
  const volatile void* address;
  uint32_t participants;
  uint32_t arrived;
  uint64_t generation;
  Barrier* next;
};
Barrier* barriers[64];
platform::Spinlock barriers_lock;

Barrier*& barrier_chain(const volatile void* barrier) { return barriers[(number(barrier) >> 4) % 64]; }

// REQUIRES: barriers_lock held.
Barrier* find_barrier(const volatile void* barrier) {
  for (Barrier* at = barrier_chain(barrier); at != nullptr; at = at->next)
    if (at->address == barrier) return at;
  return nullptr;
}

}  // namespace

void barrier_initialised(const volatile void* barrier, uint32_t participants) {
  {
    platform::SpinGuard const guard(barriers_lock);
    Barrier* known = find_barrier(barrier);
    if (known == nullptr) {
      known = platform::make<Barrier>();
      known->address = barrier;
      known->next = barrier_chain(barrier);
      barrier_chain(barrier) = known;
    }
    known->participants = participants;
    known->arrived = 0;
    ++known->generation;
  }
  log_now(kBarrierInitialised, barrier, participants);
}

BarrierTicket barrier_arrive(const volatile void* barrier) {
  DhRecord* const record = logging();
  if (record == nullptr) return {0};
  Inside const inside(record);
  // Under the lock, so that who arrives later has the larger number.
  platform::SpinGuard const guard(barriers_lock);
  Barrier* const known = find_barrier(barrier);
  if (known == nullptr || known->participants == 0) return {0};
  uint64_t const generation = known->generation;
  sequence(record, kBarrierArrive, number(barrier), generation);
  if (++known->arrived == known->participants) {
    known->arrived = 0;
    ++known->generation;
  }
  return {generation + 1};
}

void barrier_leave(const volatile void* barrier, BarrierTicket ticket) {
  if (ticket.generation != 0) log_now(kBarrierLeave, barrier, ticket.generation - 1);
}

void barrier_destroyed(const volatile void* barrier) {
  {
    platform::SpinGuard const guard(barriers_lock);
    for (Barrier** at = &barrier_chain(barrier); *at != nullptr; at = &(*at)->next)
      if ((*at)->address == barrier) {
        Barrier* const gone = *at;
        *at = gone->next;
        platform::destroy(gone);
        break;
      }
  }
  log_now(kForget, barrier);
}

// --- Threads

namespace {

// The stack may have been another thread's before: to analyses it is new memory, thread-local storage
// included.
void log_stack() {
  void* low = nullptr;
  size_t size = 0;
  {
    // libc allocates to answer: that is ours, not the program's.
    Inside const inside(__dh_record);
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    if (pthread_attr_getstack(&attributes, &low, &size) != 0) size = 0;
    pthread_attr_destroy(&attributes);
  }
  if (size != 0) log_now(kMapped, low, size);
}

}  // namespace

namespace {

void forget_thread(ThreadStart* thread) {
  platform::SpinGuard const guard(threads_lock);
  for (ThreadStart** at = &threads; *at != nullptr; at = &(*at)->next)
    if (*at == thread) {
      *at = thread->next;
      break;
    }
}

}  // namespace

ThreadStart* thread_creating(Pc) {
  initialise();
  DhRecord* const parent = logging();
  if (parent == nullptr || arena == nullptr) return nullptr;
  Inside const inside(parent);
  auto* const start = platform::make<ThreadStart>();
  start->number = __atomic_fetch_add(&arena->next_thread, 1, __ATOMIC_RELAXED);
  start->parent = parent->thread;
  sequence(parent, kThreadCreated, 0, start->number);
  return start;
}

void thread_create_failed(ThreadStart* start) {
  if (start != nullptr) platform::destroy(start);
}

void thread_started(ThreadStart* start) {
  if (start == nullptr) return;
  __dh_record = take_slot(start->number);
  start->handle = pthread_self();
  {
    platform::SpinGuard const guard(threads_lock);
    start->next = threads;
    threads = start;
  }
  log_now(kThreadStarted, nullptr, start->parent);
  log_stack();
}

void thread_finishing() {
  DhRecord* const record = __dh_record;
  if (record == &discard) return;
  {
    Inside const inside(record);
    sequence(record, kThreadFinishing, 0, 0);
    end_stream(record, kThreadEnded, 0);
  }
  // What is left of the thread is libc's.
  __dh_record = &discard;
  leave_slot(record);
}

ThreadRef* thread_find(pthread_t handle) {
  platform::SpinGuard const guard(threads_lock);
  for (ThreadStart* at = threads; at != nullptr; at = at->next)
    if (pthread_equal(at->handle, handle)) return static_cast<ThreadRef*>(at);
  return nullptr;
}

void thread_joined(ThreadRef* thread) {
  if (thread == nullptr) return;
  log_now(kThreadJoined, nullptr, thread->number);
  forget_thread(thread);
}

// What waiting threads will know is the watch lane's business.
void thread_joining(ThreadRef*) {}
void condition_waiting(const volatile void*) {}
void condition_waited() {}
void thread_not_joined() {}
void waits_may_be_cut_short() {}

void thread_detached(ThreadRef* thread) {
  if (thread != nullptr) forget_thread(thread);
}

void thread_named(pthread_t handle, const char* name) {
  ThreadRef* const thread = thread_find(handle);
  if (name == nullptr) return;
  uint64_t first = 0;
  for (unsigned i = 0; i < 8 && name[i] != '\0'; ++i)
    first |= static_cast<uint64_t>(static_cast<uint8_t>(name[i])) << (8 * i);
  log_note(3, thread == nullptr ? 0 : thread->number, first, {0});
}

// --- Processes. The child of a fork is another program: its memory is shared with nobody, and it is not
// recorded.

void fork_preparing() {
  log_now(kForked, nullptr);
  ++__dh_record->inside;
  arena_fork_preparing();
  threads_lock.lock();
  barriers_lock.lock();
  platform::memory_fork_preparing();
}

namespace {
void fork_done() {
  platform::memory_fork_done();
  barriers_lock.unlock();
  threads_lock.unlock();
  arena_fork_done();
}
}  // namespace

void fork_parent() {
  fork_done();
  --__dh_record->inside;
}

void fork_child() {
  // At once: the record is in memory that is shared with the parent, who goes on with it.
  DhRecord* const parents = __dh_record;
  __dh_record = &discard;
  fork_done();
  __dh_record = detached(parents);
  arena = nullptr;
  set_module_folder(nullptr);
}

void before_exec() {
  log_now(kExec, nullptr);
  finish(0);
}

// --- Signals and annotations

// A handler may start where its call can be given a place in the log: while invisible code runs, or at a
// value hook. So visible code counts as inside; and the thread is made to come here with its next value.
bool inside_runtime() {
  DhRecord* const record = __dh_record;
  if (record == &discard) return false;
  if (record->inside == 0 && record->invisible != 0) return false;
  __atomic_store_n(&record->attention, uint64_t{1}, __ATOMIC_RELAXED);
  return true;
}

// A handler for a fault of visible code is a call-back in the middle of it. A load that faults has not come
// to its value hook: that is the place in the log. A store has passed its hook, and a replay would pass it
// and go on: so it is told which one it is.
namespace {
const char fault_marker = 0;
}

Interrupted fault_beginning(const void* address, bool is_write) {
  DhRecord* const record = __dh_record;
  Interrupted const before = {{record->invisible, record->depth, record->inside, record->run, record->hash,
                               reinterpret_cast<uint64_t>(let_go_of_location())}};
  if (record == &discard || record->invisible != 0) return before;
  record->inside = 0;  // the runtime itself, copying for the program
  // All values before the fault are counted before its sequencer, where a replay takes them from.
  record->waiting_read_run = 0;
  log_now(kAcquire, &fault_marker, is_write ? number(address) + kDhFaultWrites : kDhFaultReads);
  record->invisible = 1;
  return before;
}

void fault_ended(const Interrupted& interrupted) {
  DhRecord* const record = __dh_record;
  hold_location_again(reinterpret_cast<void*>(interrupted.words[5]));
  if (record == &discard || interrupted.words[0] != 0) return;
  log_now(kAcquire, &fault_marker, kDhFaultEnded);
  record->invisible = static_cast<uint32_t>(interrupted.words[0]);
  record->depth = static_cast<uint32_t>(interrupted.words[1]);
  record->inside = static_cast<uint32_t>(interrupted.words[2]);
  // What the interrupted code has in registers, so that it is the same whether it reads them again or not.
  record->run = interrupted.words[3];
  record->hash = interrupted.words[4];
}

void dying_of(int signal) {
  if (arena != nullptr) arena->signal = static_cast<uint32_t>(signal);
}

namespace {
void forget_what_was_seen() {
  for (DhSeen& seen : __dh_record->seen) seen = {};
}
}  // namespace

void ignore_begin(bool reads, bool writes) { log_note(0, (reads ? 1 : 0) | (writes ? 2 : 0), 0, {0}); }
void ignore_end(bool reads, bool writes) { log_note(1, (reads ? 1 : 0) | (writes ? 2 : 0), 0, {0}); }
// What is read in between teaches nothing; what was read before must not count as read then.
void ignore_sync_begin() {
  log_note(0, 4, 0, {0});
  forget_what_was_seen();
}
void ignore_sync_end() {
  log_note(1, 4, 0, {0});
  forget_what_was_seen();
}

void benign_race(const volatile void* address, size_t size, const char*, Pc pc) {
  log_note(2, number(address), size, pc);
}

}  // namespace deadheat::lane
