// Which locks each thread holds, as sets with small numbers: equal sets have equal numbers, and intersections
// are remembered.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/strong_id.h"
#include "trace/event.h"

namespace deadheat::detect {

using LocksetId = StrongId<struct LocksetIdTag, std::uint32_t>;

class Locksets {
 public:
  // The empty set.
  static constexpr LocksetId kEmpty = LocksetId(0);

  Locksets() { intern({}); }
  // Members are sorted, here and in intern().
  std::span<const std::uint32_t> members(LocksetId set) const { return sets_[set.index()]; }
  LocksetId intern(std::vector<std::uint32_t> members);
  LocksetId intersection(LocksetId a, LocksetId b);
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::vector<std::vector<std::uint32_t>> sets_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
  std::unordered_map<std::uint64_t, LocksetId> intersections_;
  std::uint64_t bytes_ = 0;
};

// A lock that its holder takes again stays held until it is released as often.
//
// Taking and releasing is O(1) however many locks are held; a set gets its number only when somebody asks for
// it, so that a thread which takes thousands of locks one after another does not leave thousands of sets.
class HeldLocks {
 public:
  // True if the event changed the set: not for a lock taken again, and not for the release of a lock that is
  // not held.
  bool on_lock(const Event& event);
  LocksetId held(ThreadId thread);
  // Calls visit(lock) for each lock that the thread holds, in no order.
  template <class Visit>
  void for_each(ThreadId thread, const Visit& visit) const {
    if (thread.index() >= holder_.size() || holder_[thread.index()] == kNowhere) return;
    for (const Held& held : holders_[holder_[thread.index()]].locks) visit(held.lock);
  }
  Locksets& sets() { return sets_; }
  std::uint64_t bytes() const {
    return sets_.bytes() + holder_.capacity() * sizeof(std::uint32_t) + holders_.capacity() * sizeof(Holder) +
           held_ * (sizeof(Held) + 40);
  }

 private:
  struct Held {
    std::uint32_t lock;
    std::uint32_t times;
  };
  // A thread that holds something.
  struct Holder {
    std::vector<Held> locks;                                  // in no order
    std::unordered_map<std::uint32_t, std::uint32_t> places;  // of locks in `locks`, once these are many
    LocksetId set = Locksets::kEmpty;
    bool has_set = false;
  };
  static constexpr std::size_t kFew = 16;
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  static std::uint32_t place_of(const Holder& holder, std::uint32_t lock);
  static void add(Holder& holder, std::uint32_t lock);
  static void remove(Holder& holder, std::uint32_t place);

  Locksets sets_;
  std::vector<std::uint32_t> holder_;  // by thread: which of holders_; kNowhere if it holds nothing
  std::vector<Holder> holders_;
  std::vector<std::uint32_t> free_;  // of holders_
  std::uint64_t held_ = 0;           // by all threads
};

}  // namespace deadheat::detect
