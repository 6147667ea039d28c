// How long work may go on: until a moment, until somebody says stop (Ctrl-C), and until the memory it may use
// is used. One type for all stages of a long computation, handed down by reference, so that none of them can
// forget one of the three.
//
// Memory is what the process has got from the system since the start: what a solver holds, and what an
// allocator keeps, is memory to the user, whoever should have counted it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace deadheat::detect {

class Budget {
 public:
  using Time = std::chrono::steady_clock;

  // Without limits.
  Budget() = default;
  // From now on. `interrupted`, if any, outlives the budget.
  Budget(double seconds, const std::atomic<bool>* interrupted)
      : deadline_(Time::now() + std::chrono::duration_cast<Time::duration>(
                                    std::chrono::duration<double>(std::min(seconds, 1e8)))),
        interrupted_(interrupted) {}

  Time::time_point deadline() const { return deadline_; }
  bool interrupted() const {
    return interrupted_ != nullptr && interrupted_->load(std::memory_order_relaxed);
  }
  // The same budget, ending earlier.
  Budget until(Time::time_point deadline) const {
    Budget shorter = *this;
    shorter.deadline_ = std::min(deadline_, deadline);
    return shorter;
  }
  // The same budget, ending when the process has more than so many bytes more than `baseline`.
  Budget within_memory(std::uint64_t bytes, std::uint64_t baseline) const {
    Budget smaller = *this;
    smaller.most_memory_ = bytes + baseline < bytes ? UINT64_MAX : bytes + baseline;
    return smaller;
  }
  // The same budget, and somebody who wants to know whenever a BudgetWatch looks at it: for progress.
  Budget with_look(std::function<void()> on_look) const {
    Budget watched = *this;
    watched.on_look_ = std::move(on_look);
    return watched;
  }
  bool over() const { return interrupted() || Time::now() >= deadline_ || out_of_memory(); }
  bool out_of_memory() const { return most_memory_ != UINT64_MAX && memory_in_use() > most_memory_; }
  // Of the whole process, in bytes; 0 if the system does not tell.
  static std::uint64_t memory_in_use();
  void look() const {
    if (on_look_) on_look_();
  }

 private:
  Time::time_point deadline_ = Time::time_point::max();
  const std::atomic<bool>* interrupted_ = nullptr;
  std::uint64_t most_memory_ = UINT64_MAX;
  std::function<void()> on_look_;
};

// Looks at a budget now and then: for inner loops, where the time of day costs more than a step. Once over,
// always over.
class BudgetWatch {
 public:
  explicit BudgetWatch(const Budget& budget) : budget_(budget), over_(budget.over()) {}

  // `weight`: about how many simple operations the step takes.
  bool over(std::uint64_t weight = 1) {
    if (over_) return true;
    if ((steps_ += weight) < kSteps) return false;
    steps_ = 0;
    budget_.look();
    return over_ = budget_.over();
  }

 private:
  static constexpr std::uint64_t kSteps = 1 << 16;
  const Budget& budget_;
  std::uint64_t steps_ = 0;
  bool over_ = false;
};

}  // namespace deadheat::detect
