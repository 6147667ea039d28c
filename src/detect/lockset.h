// lockset: locations that no lock always protects.
#pragma once

#include <vector>

#include "detect/detector.h"
#include "detect/held_locks.h"
#include "detect/recent_accesses.h"

namespace deadheat::detect {

class Lockset final : public Stage {
 public:
  explicit Lockset(StageContext context) : Stage(std::move(context)) {}
  void on_event(EventIndex index, const Event& event) override;
  Statistics statistics() const override;
  std::uint64_t memory_bytes() const override { return cells_.capacity() * sizeof(Cell) + held_.bytes(); }

 private:
  enum class State : std::uint8_t { kVirgin, kExclusive, kShared, kSharedModified, kReported };
  struct Cell {
    State state = State::kVirgin;
    ThreadId owner;        // kExclusive
    LocksetId candidates;  // kShared, kSharedModified
    RecentAccesses recent;
  };
  void on_access(EventIndex index, const Event& event);

  HeldLocks held_;
  std::vector<Cell> cells_;
  std::uint64_t became_shared_ = 0;
  std::uint64_t became_modified_ = 0;
  std::uint64_t refinements_ = 0;
  std::uint64_t races_ = 0;
};

}  // namespace deadheat::detect
