// Threads: who they are, what they know of each other, and the few things a report says about them.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "detect/spans.h"
#include "runtime/abi.h"
#include "runtime/lane.h"
#include "runtime/platform/cache_line.h"
#include "runtime/watch/epoch.h"
#include "runtime/watch/lock_places.h"
#include "runtime/watch/places_again.h"
#include "runtime/watch/read_notes.h"
#include "runtime/watch/stacks.h"
#include "runtime/watch/vector_clock.h"
#include "runtime/watch/walked.h"

namespace deadheat::watch {

class AtomicAccess;
struct FatCell;
struct FrameStack;
struct SyncVar;

// What a report says of a thread; kept for the life of the process.
struct ThreadInfo {
  uint32_t id;  // 0 is the main thread, then in order of creation
  uint32_t parent;
  StackId created;  // an access node: the call that created it
  int os_id;
  char name[16];
  bool reported;  // its line was written
};

struct Race {
  Record other;
  uintptr_t granule;
};

struct HeldLock {
  uintptr_t lock;
  StackId acquired;
  LocksetId outer;  // the lockset without it
  // Where it was found when it was taken, null if that is not known. The cell of an address is the same for
  // ever; whether the FatCell is still the cell's, it says itself (`owner`).
  DhCell* cell;
  FatCell* fat;
  bool shared;
  bool unchanged;  // taking it changed nothing: perhaps releasing it does not, either
};

struct Statistics {
  uint64_t slow_accesses;  // reached the slow path
  uint64_t covered;        // of these and of the ranges, dropped by the filter
  uint64_t ranges;         // accesses made by library calls, but for a few bytes that were covered
  uint64_t atomics;
  uint64_t sync_operations;
  uint64_t labels;  // labels started

  void add(const Statistics& other);
};

// Where what the FatCells carry stands, as far as the thread saw it last: both lines can be asked for at
// once, and not the second one when the first has come. Mere hints: nothing is read there.
struct SyncHints {
  static constexpr unsigned kCount = 64;
  const SyncVar* hint[kCount];
  const SyncVar*& of(const void* fat) {
    return hint[reinterpret_cast<uintptr_t>(fat) / platform::kLine % kCount];
  }
};

// Whether something that need not be asked is likely to be so, by how it was the last times.
class Likelihood {
 public:
  // Once it is not, it is asked now and then all the same.
  bool is_likely() { return lately_ > 0 || ++refused_ % kTryAgain == 0; }
  bool note(bool is_so) {
    lately_ = is_so ? kMost : lately_ > 0 ? lately_ - 1 : 0;
    return is_so;
  }

 private:
  static constexpr int32_t kMost = 16;
  static constexpr uint32_t kTryAgain = 32;
  int32_t lately_;
  uint32_t refused_;
};

// What the tables of a thread grow to that often asks them in vain.
struct RoomyTables {
  static constexpr uint32_t kOften = 1u << 15;
  static constexpr uint32_t kMostThreads = 64;  // have such, because they are 1.4 MB each

  QuickCache::Known known[decltype(QuickCache::known)::kMany];
  InternCache::Node node[decltype(InternCache::node)::kMany];
  InternCache::Shape shape[decltype(InternCache::shape)::kMany];
};

// No label is above it: every access takes the slow path, where it is counted.
inline constexpr uint64_t kNoFloor = ~uint64_t{0} >> 1;

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): what is hot stands first.
struct Thread {
  // Hot: the slow path's first cache lines.
  uint32_t inside = 0;     // depth of runtime calls: signal handlers wait while it is not 0
  uint32_t not_quick = 0;  // accesses go the long way: some are ignored, or all are counted
  uint32_t ignore_reads = 0;
  uint32_t ignore_writes = 0;
  uint32_t ignore_sync = 0;
  uint32_t slot = 0;
  LocksetId lockset = 0;
  detect::SpanClock<const volatile void*> span;
  VectorClock clock;     // what this thread knows; its own entry is what it has published
  uint64_t version = 1;  // changes whenever `clock` learns something
  int32_t until_known =
      0;                 // slow accesses until what all threads know is brought up to date (known_to_all.h)
  DhHot* hot = nullptr;  // this thread's __dh_hot
  DhFrame* frames = nullptr;
  DhFrame* frames_end = nullptr;
  Statistics statistics{};

  // Fences: what a relaxed store publishes, and what relaxed loads have gathered for an acquire fence.
  VectorClock fence_release;
  VectorClock fence_acquire;

  static constexpr unsigned kHeldLocks = 64;
  HeldLock held[kHeldLocks];
  unsigned held_count = 0;
  const AtomicAccess* atomic_access = nullptr;  // in progress

  // Identity.
  ThreadInfo* info = nullptr;
  pthread_t handle{};
  bool handle_known = false;
  bool finished = false;
  bool detached = false;
  bool joined = false;
  uintptr_t stack_low = 0;
  uintptr_t stack_high = 0;
  bool has_on_stack(uintptr_t address) const { return address - stack_low < stack_high - stack_low; }
  Thread* joining = nullptr;  // waits for the end of that one, whose `joiner` it is; guarded by the registry
  Thread* joiner = nullptr;
  // Waits for a condition, and does nothing before it has this mutex again.
  const volatile void* waits_with = nullptr;
  Thread* next_live = nullptr;  // in the registry
  Thread* previous_live = nullptr;
  // The shadow stack that `frames` is in, and the one of the thread's own stack (frame_stacks.h).
  FrameStack* frame_stack = nullptr;
  FrameStack* home_frames = nullptr;
  bool fiber = false;               // not the one that its OS thread started with
  DhFrame* suspended_at = nullptr;  // its next frame, while another one runs in its place

  InternCache cache;
  QuickCache quick;
  RoomyTables* roomy = nullptr;  // what they have grown to, if they have
  Likelihood covered_in_long;    // is an access to a long cell, by a record that the cell does not show
  PlacesAgain places_again;
  JoinsAgain joins_again;
  LockPlaces lock_places;
  SyncHints sync_hints;
  WalkedRanges walked;
  ReadNotes notes;

  static constexpr unsigned kFoundRaces = 64;
  Race found[kFoundRaces];  // by the access that is being checked (Races)

  bool ordered_after(Epoch e) const { return e.slot() == slot || clock.get(e.slot()) >= e.clock(); }
  Epoch epoch() const { return Epoch(slot, span.label()); }
  // After anything that may have changed the label.
  void publish_floor();
  // The same while accesses are neither ignored nor counted. REQUIRES: not_quick is 0.
  void publish_quick_floor() { dh_set_floor(hot, epoch().bits() << kDhEpochShift); }
  void learnt() { ++version; }
  // After a change of what is ignored, or of the floor.
  void update_quick() {
    not_quick = ignore_reads != 0 || ignore_writes != 0 || ignore_sync != 0 || hot == nullptr ||
                        hot->floor == kNoFloor
                    ? 1
                    : 0;
  }
  // Neither inside the runtime nor anything special.
  bool may_be_quick() const {
    // Each by itself: a load of both at once would wait for a store to one of them that has just been made.
    uint32_t either = __atomic_load_n(&inside, __ATOMIC_RELAXED);
    bool neither;
    __asm__("orl %2, %0" : "+r"(either), "=@ccz"(neither) : "m"(not_quick));
    return neither;
  }
};

extern __thread Thread* current_thread __attribute__((tls_model("local-exec")));

// Registers a thread that the runtime never saw start. Null before the runtime is initialised and after the
// thread's end.
Thread* adopt_current();
inline Thread* current_or_adopt() {
  Thread* const thread = current_thread;
  return __builtin_expect(thread != nullptr, 1) ? thread : adopt_current();
}

// Is there a thread, and may it be quick? Nearly always.
__attribute__((always_inline)) inline bool may_be_quick(const Thread* thread) {
  return __builtin_expect(thread != nullptr && thread->may_be_quick(), 1);
}

// No other thread is alive, and everything that ever ran is ordered before this one: no access can race until
// another thread is created, so none is looked at.
extern bool alone __asm__("deadheat_alone");

// While closed, no thread enters the runtime: fork(2) must not copy a lock that somebody holds.
extern bool gate_closed __attribute__((visibility("hidden")));

// Marks the thread as inside the runtime; delivers signals that came meanwhile on the way out.
class Inside {
 public:
  explicit Inside(Thread* thread) : thread_(thread) { enter(thread); }
  ~Inside() { leave(thread_); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  // The two halves, for what does not nest with scopes.
  static void enter(Thread* thread) {
    if (++thread->inside == 1 && __builtin_expect(__atomic_load_n(&gate_closed, __ATOMIC_RELAXED), 0))
      wait_at_gate(thread);
  }
  static void leave(Thread* thread) {
    if (--thread->inside == 0 && __builtin_expect(lane::signals_pending != 0, 0)) deliver();
  }

 private:
  static void deliver();
  __attribute__((preserve_most, noinline, cold)) static void wait_at_gate(Thread* thread);
  Thread* thread_;
};

// Keeps errno over a runtime call.
class KeepErrno {
 public:
  KeepErrno();
  ~KeepErrno();

 private:
  int saved_;
};

// The frame node the thread is in, interned on demand.
StackId current_frames(Thread* thread);
// An access node for `pc` called from the current frames.
StackId stack_at(Thread* thread, uintptr_t pc, AccessType type, uint32_t size);

// Once at most, and not for everybody (RoomyTables). REQUIRES: the thread is inside the runtime.
__attribute__((noinline, cold)) void grow_tables(Thread* thread);

// Own entry of `clock` := everything so far; starts a new label unless nothing happened.
// REQUIRES: no granule is locked.
void publish(Thread* thread);
// The same for who has a granule locked, and looks after renew_slot_if_needed once it has not.
void publish_in_granule(Thread* thread);

// Registry.
void threads_initialise();
Thread* thread_create(Thread* parent, uintptr_t pc);
void thread_start(Thread* thread);
void thread_finish(Thread* thread);
void thread_abandon(Thread* thread);  // its creation failed
// Before and after the wait; if it failed, `thread_not_joined` instead of the latter.
void thread_joining(Thread* joiner, Thread* joined);
void thread_not_joined(Thread* joiner);
void thread_join(Thread* joiner, Thread* joined);
void thread_detach(Thread* thread);
Thread* thread_by_handle(pthread_t handle);
// Fibers are threads that take turns on OS threads: each has its own identity, clock and shadow call stack.
Thread* fiber_create(Thread* creator, uintptr_t pc);
void fiber_switch(Thread* from, Thread* to, bool orders);
void fiber_destroy(Thread* fiber);
Thread* home_of_current_thread();         // what the OS thread started with
ThreadInfo* thread_info_at(Epoch epoch);  // who made an access with this epoch
ThreadInfo* thread_info(uint32_t id);
uint32_t threads_created();
Statistics total_statistics();
// Calls `visit` with the list of live threads, how many they are, and how many slots were ever used; the
// registry is locked meanwhile. `wait`: if it is in use; otherwise nothing is done then.
using LiveVisitor = void (*)(const Thread* first, uint32_t count, uint32_t slots, void* argument);
void visit_live(bool wait, LiveVisitor visit, void* argument);
template <class Visit>
void with_live_threads(Visit visit, bool wait = true) {
  visit_live(
      wait,
      [](const Thread* first, uint32_t count, uint32_t slots, void* v) {
        (*static_cast<Visit*>(v))(first, count, slots);
      },
      &visit);
}
void threads_fork_preparing(Thread* forker);
void threads_fork_parent();
void threads_fork_child(Thread* survivor);
// Moves the thread to a fresh slot when its clock comes near the end of the present one.
// REQUIRES: no granule is locked, because its notes are settled.
__attribute__((noinline, cold)) void renew_slot(Thread* thread);
inline void renew_slot_if_needed(Thread* thread) {
  if (__builtin_expect(thread->span.used() >= kLastClock || thread->span.label() >= kLastClock, 0))
    renew_slot(thread);
}

}  // namespace deadheat::watch
