// Vector time, for every detector that orders events.
//
// A thread's time is a dense row of clocks, private to it and changed in place. What it hands over at a
// release, a fork or a send is a Moment: a reference to an immutable copy of the row plus the thread's own
// clock. Two observations make moments cheap:
//  - between two joins that taught the thread something, its row differs from the last copy only in its own
//  clock, so
//    the copy is shared and a release costs a reference, not O(threads);
//  - time is transitively closed: whoever knows clock c of thread t knows all that t knew at c. So a join
//  first compares
//    one number and stops if it has nothing to learn (most acquires of an uncontended lock end there).
// What is left is O(threads) per join that really learns. Tree clocks ("A Tree Clock Data Structure for
// Causal Orderings in Concurrent Executions", Mathur, Tunc, Pavlogiannis, Viswanathan) make that sublinear;
// docs/performance-traces.md compares.
//
// Rows have a place for each slot (thread_slots.h), not for each thread that ever was: they follow the number
// of threads that are alive at a time.
//
// Clocks start at 1, so that 0 means "nothing known".
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/strong_id.h"
#include "detect/thread_lives.h"
#include "detect/thread_slots.h"
#include "trace/event.h"

namespace deadheat::detect {

// Memory for the copies, recycled by size. Outlives all moments made with it.
class ClockPool {
 public:
  struct Block {
    std::uint32_t references;
    std::uint32_t size;      // clocks in use
    std::uint32_t capacity;  // power of two
    std::uint32_t unused;
    std::uint32_t* clocks() { return reinterpret_cast<std::uint32_t*>(this + 1); }
    const std::uint32_t* clocks() const { return reinterpret_cast<const std::uint32_t*>(this + 1); }
    Block*& next_free() { return *reinterpret_cast<Block**>(this + 1); }
  };

  ClockPool() = default;
  ClockPool(const ClockPool&) = delete;
  ClockPool& operator=(const ClockPool&) = delete;
  ~ClockPool();

  Block* allocate(std::uint32_t size);
  void release(Block* block) {
    if (--block->references == 0) recycle(block);
  }
  // Bytes taken from the system.
  std::uint64_t bytes() const { return bytes_; }

 private:
  void recycle(Block* block);
  Block* free_[32] = {};
  std::vector<void*> slabs_;
  std::uint64_t bytes_ = 0;
};

// What a thread knew at one point of its life. Copies share the clocks.
class Moment {
 public:
  Moment() = default;
  Moment(ClockPool* pool, ClockPool::Block* block, Slot slot, Clock own)
      : pool_(pool), block_(block), slot_(slot), own_(own) {
    ++block_->references;
  }
  Moment(const Moment& other)
      : pool_(other.pool_), block_(other.block_), slot_(other.slot_), own_(other.own_) {
    if (block_ != nullptr) ++block_->references;
  }
  Moment(Moment&& other) noexcept
      : pool_(other.pool_),
        block_(std::exchange(other.block_, nullptr)),
        slot_(other.slot_),
        own_(other.own_) {}
  Moment& operator=(Moment other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(block_, other.block_);
    std::swap(slot_, other.slot_);
    std::swap(own_, other.own_);
    return *this;
  }
  ~Moment() {
    if (block_ != nullptr) pool_->release(block_);
  }

  bool empty() const { return block_ == nullptr; }
  Slot slot() const { return slot_; }
  Clock own() const { return own_; }
  // REQUIRES: !empty().
  Clock at(Slot slot) const {
    if (slot == slot_) return own_;
    return Clock(slot.value() < block_->size ? block_->clocks()[slot.value()] : 0);
  }
  ClockPool::Block* block() const { return block_; }
  std::uint64_t bytes() const {
    return empty() ? 0 : sizeof(ClockPool::Block) + block_->capacity * sizeof(std::uint32_t);
  }

 private:
  ClockPool* pool_ = nullptr;
  ClockPool::Block* block_ = nullptr;
  Slot slot_;
  Clock own_;
};

// The time of one thread.
class ThreadTime {
 public:
  ThreadTime(ClockPool& pool, Slot self, Clock first = Clock(1)) : pool_(&pool), self_(self), own_(first) {}
  ThreadTime(ThreadTime&&) noexcept = default;
  ThreadTime& operator=(ThreadTime&&) noexcept = default;
  // The slot's next tenant.
  void reset(ClockPool& pool, Slot self, Clock first) { *this = ThreadTime(pool, self, first); }

  Slot self() const { return self_; }
  Clock own() const { return own_; }
  // What this thread knows of `slot`; its own clock for its own.
  Clock at(Slot slot) const {
    if (slot == self_) return own_;
    return Clock(slot.value() < row_.size() ? row_[slot.value()] : 0);
  }
  bool knows(Slot slot, Clock clock) const { return at(slot) >= clock; }

  void tick() {
    DEADHEAT_CHECK(own_.value() != ~std::uint32_t{0});
    own_ = Clock(own_.value() + 1);
    if (self_.value() < row_.size()) row_[self_.value()] = own_.value();
  }

  // This thread's knowledge now.
  Moment now();

  // Learns all that `moment` knew; false if there was nothing to learn. REQUIRES: time is transitively closed
  // (see above).
  bool join(const Moment& moment) {
    if (moment.empty() || knows(moment.slot(), moment.own())) return false;
    join_all(moment);
    return true;
  }
  // The same without the shortcut, for orders where knowing a clock does not mean knowing all it knew.
  void join_all(const Moment& moment);
  std::uint64_t bytes() const { return row_.capacity() * sizeof(std::uint32_t); }

 private:
  void grow(std::size_t size);

  ClockPool* pool_;
  Slot self_;
  Clock own_ = Clock(1);
  std::vector<std::uint32_t> row_;
  Moment copy_;  // of row_ as it was; valid for all but the own clock unless changed_
  bool changed_ = true;
};

// Happens-before of a trace: program order, fork and join, messages, and (optionally) locks.
class SyncClocks {
 public:
  enum class Locks { kOrder, kIgnore };
  explicit SyncClocks(Locks locks = Locks::kOrder) : locks_order_(locks == Locks::kOrder) {}

  // The time of the thread at its current event. Valid until the next call for another thread.
  ThreadTime& time(ThreadId thread) { return lives_.of(thread); }
  const ThreadSlots& slots() const { return lives_.slots(); }
  // Who had the slot at that clock.
  ThreadId tenant(Slot slot, Clock clock) const { return slots().tenant(slot, clock); }
  // A thread whose second join cannot be answered any more: see thread_lives.h.
  std::optional<ThreadId> forgotten() const { return lives_.forgotten(); }

  // REQUIRES: not an access. Events that order nothing are ignored.
  void on_sync(const Event& event);

  std::uint64_t joins() const { return joins_; }        // edges that taught something
  std::uint64_t joins_saved() const { return known_; }  // edges that taught nothing
  std::uint64_t bytes() const;

  ClockPool& pool() { return pool_; }

 private:
  void edge(ThreadTime& to, const Moment& from) { ++(to.join(from) ? joins_ : known_); }
  bool locks_order_;
  ClockPool pool_;
  ThreadLives<ThreadTime> lives_{pool_};
  std::vector<Moment> lock_times_;
  SentMessages<Moment> messages_;
  std::uint64_t joins_ = 0;
  std::uint64_t known_ = 0;
};

}  // namespace deadheat::detect
