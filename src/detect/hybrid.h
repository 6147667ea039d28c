// hybrid: locksets that are reset by order, Helgrind+'s state machine for single locations.
#pragma once

#include <vector>

#include "detect/clocks.h"
#include "detect/detector.h"
#include "detect/epoch.h"
#include "detect/held_locks.h"
#include "detect/recent_accesses.h"

namespace deadheat::detect {

class Hybrid final : public Stage {
 public:
  explicit Hybrid(StageContext context) : Stage(std::move(context)) {}
  void on_event(EventIndex index, const Event& event) override;
  Statistics statistics() const override;
  std::uint64_t memory_bytes() const override {
    return cells_.capacity() * sizeof(Cell) + held_.bytes() + clocks_.bytes();
  }

 private:
  enum class State : std::uint8_t { kNew, kExclusiveRead, kExclusiveWrite, kSharedRead, kSharedWrite, kRace };
  struct Cell {
    State state = State::kNew;
    LocksetId candidates;
    Epoch last;                 // exclusive: the last access
    std::vector<Epoch> shared;  // shared: the last access of each thread
    RecentAccesses recent;
  };
  void on_access(EventIndex index, const Event& event);

  SyncClocks clocks_{SyncClocks::Locks::kIgnore};
  HeldLocks held_;
  std::vector<Cell> cells_;
  std::uint64_t ordered_ = 0;
  std::uint64_t parallel_ = 0;
  std::uint64_t back_to_exclusive_ = 0;
  std::uint64_t races_ = 0;
};

}  // namespace deadheat::detect
