// syncp: races that keep the order of critical sections, found without a solver.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "detect/clocks.h"
#include "detect/detector.h"
#include "detect/held_locks.h"
#include "detect/pair_set.h"
#include "detect/site_index.h"

namespace deadheat::detect {

class SyncPreserving final : public Stage {
 public:
  explicit SyncPreserving(StageContext context) : Stage(std::move(context)) {}
  void on_event(EventIndex index, const Event& event) override;
  Statistics statistics() const override;
  std::uint64_t memory_bytes() const override {
    return bytes_ + pairs_.bytes() + pool_.bytes() + held_.bytes() + lives_.bytes();
  }

 private:
  // Alive at a time: slots. With more, pairs of them take more time and memory than anybody has.
  static constexpr std::size_t kMostThreads = 16384;

  // By slot (thread_slots.h): a prefix of the events of its threads, closed or about to be.
  using Cut = std::vector<std::uint32_t>;

  struct Access {
    EventIndex index;
    std::uint32_t number;  // of the event in its slot, from 1
    LocksetId locks;
    // The time of the thread before the access, but for the own clock, which is `number`. Accesses and
    // acquires are never given up, so these references are not counted back either.
    ClockPool::Block* before;
  };
  static_assert(sizeof(Access) == 24, "one for most accesses of the trace");
  // How far one other thread has come in the accesses of a list.
  struct Progress {
    Slot slot;
    std::uint32_t passed = 0;  // these can never race with it any more
    Cut ideal;                 // of the last pair that was looked at; empty if none was
  };
  // The accesses of one thread at one site, of one kind, to one location.
  struct List {
    Slot slot;
    SiteId site;
    EventKind kind;
    std::uint64_t stretch = 0;  // of the last access, see below
    std::vector<Access> accesses;
    std::vector<Progress> progress;
  };
  struct Location {
    std::vector<List> lists;
    std::unique_ptr<SiteIndex> index;  // of the lists, if there are many
    Moment last_write;
  };

  struct Acquire {
    std::uint32_t number;                 // of the event in its slot
    std::uint32_t released = 0;           // clock of its thread after the release; 0 while the lock is held
    std::uint64_t index;                  // in the trace
    ClockPool::Block* release = nullptr;  // the time of its thread then
  };
  static_assert(sizeof(Acquire) == 24, "one for each critical section of the trace");
  struct LockUser {
    Slot slot;
    std::vector<Acquire> acquires;
  };
  struct LockChange {
    std::uint32_t number;
    LocksetId locks;  // held from this event on
  };
  struct Thread {
    Thread(ClockPool& pool, Slot self, Clock first) : time(pool, self, first) {}
    void reset(ClockPool& pool, Slot self, Clock first) {
      time.reset(pool, self, first);
      ++stretch;
    }
    Moment now() { return time.now(); }
    bool join(const Moment& moment) { return time.join(moment); }
    bool knows(Slot slot, Clock clock) const { return time.knows(slot, clock); }
    Clock own() const { return time.own(); }
    ThreadTime
        time;  // program order, hard edges, and each write before the reads that see it; ticks at every event
    std::vector<LockChange> changes;  // of all tenants of the slot
    std::uint64_t stretch = 1;        // ends where another thread may be ordered after this one
  };

  Thread& thread(ThreadId id) { return lives_.of(id); }
  void handle(EventIndex index, const Event& event);
  void fork(ThreadId id, ThreadId child);
  void join(ThreadId id, ThreadId child);
  Location& location(ObjectId object);
  static std::uint64_t key_of(Slot slot, SiteId site, EventKind kind) {
    return std::uint64_t{kind == EventKind::kWrite} << 63 | std::uint64_t{slot.value()} << 32 | site.value();
  }
  List* list_of(Location& location, Slot slot, const Event& event);
  List& add_list(Location& location, Slot slot, const Event& event);
  void on_access(EventIndex index, const Event& event);
  void on_lock(EventIndex index, const Event& event);
  bool can_race(List& list, EventIndex index, const Event& event, LocksetId locks);
  void close(Cut& cut);
  const Acquire* last_acquire(const LockUser& user, const Cut& cut) const;
  static bool include(Cut& cut, const ClockPool::Block& clocks, Slot slot, std::uint32_t own);
  ClockPool::Block* keep(ThreadTime& time);

  ClockPool pool_;
  ThreadLives<Thread> lives_{pool_};
  std::vector<Location> locations_;
  std::vector<std::vector<LockUser>> locks_;
  SentMessages<Moment> messages_;
  HeldLocks held_;
  PairSet pairs_;
  std::uint64_t bytes_ = 0;
  std::uint64_t passed_order_ = 0;
  std::uint64_t passed_locks_ = 0;
  std::uint64_t passed_ideal_ = 0;
  std::uint64_t ideals_ = 0;
  std::uint64_t rounds_ = 0;
  std::uint64_t races_ = 0;
};

}  // namespace deadheat::detect
