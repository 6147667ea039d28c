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
  // Members are sorted.
  std::span<const std::uint32_t> members(LocksetId set) const { return sets_[set.index()]; }
  LocksetId with(LocksetId set, std::uint32_t lock);
  LocksetId without(LocksetId set, std::uint32_t lock);
  LocksetId intersection(LocksetId a, LocksetId b);
  std::uint64_t bytes() const { return bytes_; }

 private:
  LocksetId intern(std::vector<std::uint32_t> members);

  std::vector<std::vector<std::uint32_t>> sets_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
  std::unordered_map<std::uint64_t, LocksetId> intersections_;
  std::unordered_map<std::uint64_t, LocksetId> changes_;  // (set, lock, with or without)
  std::uint64_t bytes_ = 0;
};

// A lock that its holder takes again stays held until it is released as often.
class HeldLocks {
 public:
  // True if the event changed the set: not for a lock taken again, and not for the release of a lock that is
  // not held.
  bool on_lock(const Event& event);
  LocksetId held(ThreadId thread) const {
    return thread.index() < held_.size() ? held_[thread.index()] : Locksets::kEmpty;
  }
  Locksets& sets() { return sets_; }
  std::uint64_t bytes() const { return sets_.bytes() + held_.capacity() * sizeof(LocksetId); }

 private:
  Locksets sets_;
  std::vector<LocksetId> held_;                             // by thread
  std::unordered_map<std::uint64_t, std::uint32_t> again_;  // (thread, lock): how often more than once
};

}  // namespace deadheat::detect
