// From a replay to the events that detectors read (src/trace/event.h).
//
// Two observers, for two passes over one recording: Borders notes how memory is accessed (locations.h),
// RaceEvents makes the events. What synchronises becomes acquire and release (mutexes), fork and join, and
// messages: everything else that orders is "what was released to it is ordered before what acquires it", and
// a message says just that.
//
//   a reader's lock      receives what the last writer sent, sends to the next writer
//   a barrier            each arrival sends to its generation, each departure receives from it
//   an atomic            a release sends; an acquire receives from the releases whose value it saw, the
//   release sequence
//                        included; a fence makes the relaxed operations after (release) or before (acquire)
//                        it count
//   anything else        semaphores, condition variables, files ...: one message per object
//
// Atomic accesses are events with `is_atomic`: they race with plain ones only. A block that is freed is
// written as a whole. The life of a local that several threads access is a location of its own: other
// threads' uses read it, and its end writes it.
//
// Synchronisations come in the order in which they happened; what threads do between them may come in any
// order, and comes early: a thread runs on until its next synchronisation. So an access may come before the
// memory it needs is allocated by another thread. Such an access waits for the end of its region; by then all
// that happened before it has been told.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "replay/locations.h"
#include "replay/observer.h"
#include "trace/event.h"
#include "trace/names.h"

namespace deadheat::replay {

// First pass.
class Borders final : public Observer {
 public:
  explicit Borders(Locations& locations) : locations_(locations) {}

  void on_access(const Access& access) override {
    locations_.note(access.address, access.size, access.thread);
  }
  void on_library_access(ThreadId thread, SiteId, const recording::LibraryAccess& access) override {
    locations_.note(access.address, access.size, thread);
  }
  void on_sequencer(ThreadId thread, SiteId, const recording::Sequencer& sequencer) override;
  void on_local(ThreadId, SiteId, Address address, std::uint64_t size) override {
    locations_.note_local(address, size);
  }

  // Locks that were ever held by readers.
  const std::unordered_set<std::uint64_t>& shared_locks() const { return shared_locks_; }

 private:
  Locations& locations_;
  std::unordered_set<std::uint64_t> shared_locks_;
  std::unordered_map<std::uint64_t, std::uint64_t> blocks_;  // live allocations: address, size
};

// What an access event stands for.
struct AccessOrigin {
  Address address;
  std::uint32_t size = 0;  // of the whole access, not of the location
  bool is_free = false;
  bool is_life = false;  // the location is a local's life
  // Where the access comes later than it was made: the stack of then, as `stack_of` gave it. Else null.
  const std::vector<SiteId>* stack = nullptr;
};

struct HeldLock {
  Address lock;
  bool is_shared = false;
};

// Second pass.
class RaceEvents final : public Observer {
 public:
  // `origin` is null for events that are no accesses.
  using Sink = std::function<void(const Event&, const AccessOrigin* origin)>;

  RaceEvents(Locations& locations, const Borders& borders, Sink sink)
      : locations_(locations), shared_locks_(borders.shared_locks()), sink_(std::move(sink)) {}

  // There are BarrierPairs among the events (barrier_pairs.h): nothing moves across them.
  void set_barriers() { has_barriers_ = true; }
  // Asked for stacks of accesses whose events come later.
  void set_stacks(std::function<std::vector<SiteId>(ThreadId, SiteId)> stack_of) {
    stack_of_ = std::move(stack_of);
  }

  void on_thread_begin(ThreadId thread) override;
  void on_thread_end(ThreadId thread, const recording::End&) override;
  void on_access(const Access& access) override;
  void on_library_access(ThreadId thread, SiteId site, const recording::LibraryAccess& access) override;
  void on_sequencer(ThreadId thread, SiteId site, const recording::Sequencer& sequencer) override;
  void on_note(ThreadId thread, SiteId site, const recording::Note& note) override;
  void on_local(ThreadId thread, SiteId, Address address, std::uint64_t size) override;
  void on_local_end(ThreadId thread, SiteId site, Address address, std::uint64_t size) override;

  void on_invisible_arguments(ThreadId thread, SiteId, std::span<const CallWord>) override {
    if (has_barriers_) end_region(thread);
  }
  void on_invisible_end(ThreadId thread) override {
    if (has_barriers_) end_region(thread);
  }

  // After the pass: names for all that events refer to. A lock has the name of the location where it is, so
  // that who reaches the one reaches the other.
  void name_all(Names& names) const;

  // The locks that a thread holds now, the oldest first.
  const std::vector<HeldLock>& held(ThreadId thread) { return state(thread).held; }
  // Did the program say that races there are benign?
  bool is_benign(Address address) const;

 private:
  using Message = std::uint32_t;

  struct Late {
    SiteId site;
    AccessOrigin origin;
    bool is_write = false;
    bool is_atomic = false;
    std::vector<SiteId> stack;
  };
  struct ThreadState {
    std::vector<HeldLock> held;
    int ignore_reads = 0;
    int ignore_writes = 0;
    int ignore_sync = 0;
    std::vector<Message> seen;  // by relaxed loads, for an acquire fence
    Message fence = 0;          // of the last release fence
    bool is_starting = false;   // its last sequencer was its start
    Address stack;              // if it is known
    std::uint64_t stack_size = 0;
    std::vector<Late> late;  // accesses that wait for the end of the region
  };
  // A local that several threads access.
  struct Local {
    std::uint64_t size = 0;
    ThreadId owner;
    ObjectId life;
  };
  struct AtomicState {
    std::vector<Message> carried;                          // what an acquire of its value receives
    std::unordered_map<std::uint32_t, Message> of_thread;  // what a thread's releases send
  };
  struct ReaderLock {
    Message from_writers = 0;
    Message to_writers = 0;
  };

  ThreadState& state(ThreadId thread);
  // One without a sequencer: now, or at the end of the region.
  void free_access(ThreadId thread, SiteId site, AccessOrigin origin, bool is_write, bool is_atomic);
  void access(ThreadId thread, SiteId site, AccessOrigin origin, bool is_write, bool is_atomic);
  void end_region(ThreadId thread);
  void use_local(ThreadId thread, SiteId site, const AccessOrigin& origin);
  // The block is gone: whoever touches it at the same time races with that.
  void freed(ThreadId thread, SiteId site, Address address, std::uint64_t size);
  void mapped(ThreadId thread, const recording::Sequencer& sequencer);
  void emit(EventKind kind, ThreadId thread, SiteId site, std::uint64_t object);
  void send(ThreadId thread, SiteId site, Message message) { emit(EventKind::kSend, thread, site, message); }
  void receive(ThreadId thread, SiteId site, Message message);
  Message new_message() { return next_message_++; }
  std::uint64_t lock_number(Address lock);

  void synchronise(ThreadId thread, SiteId site, const recording::Sequencer& sequencer);
  void atomic(ThreadId thread, SiteId site, const recording::Sequencer& sequencer);
  void fence(ThreadId thread, SiteId site, unsigned order);
  void lock_acquired(ThreadId thread, SiteId site, Address lock, bool is_shared);
  void lock_releasing(ThreadId thread, SiteId site, Address lock);

  Locations& locations_;
  const std::unordered_set<std::uint64_t>& shared_locks_;
  Sink sink_;
  std::function<std::vector<SiteId>(ThreadId, SiteId)> stack_of_;
  bool has_barriers_ = false;
  std::vector<ThreadState> threads_;
  std::map<std::uint64_t, Local>
      locals_;  // by address, those that ended and whose place is not used again too
  std::unordered_map<std::uint64_t, AtomicState> atomics_;
  std::unordered_map<std::uint64_t, Message> objects_;
  std::unordered_map<std::uint64_t, ReaderLock> reader_locks_;
  std::unordered_map<std::uint64_t, std::uint64_t> locks_;
  std::vector<ObjectId> lock_locations_;                     // by number
  std::unordered_map<std::uint64_t, std::uint64_t> blocks_;  // live allocations: address, size
  std::vector<std::pair<std::uint64_t, std::uint64_t>> benign_;
  std::unordered_set<Message> pinned_;  // somebody may still receive exactly what is in it
  Message next_message_ = 1;
};

}  // namespace deadheat::replay
