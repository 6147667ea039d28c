#include "trace/stat.h"

#include <algorithm>

namespace deadheat {

void TraceStat::add(std::span<const Event> events) {
  for (const Event& event : events) {
    if (events_ >= width_ * kColumns) widen();
    ++kinds_[static_cast<std::size_t>(event.kind)];
    with_value_ += event.has_value;
    if (event.thread.index() < kMaxThreads) {
      if (threads_.size() <= event.thread.index()) threads_.resize(event.thread.index() + 1);
      Thread& thread = threads_[event.thread.index()];
      ++thread.events;
      thread.accesses += is_access(event.kind);
      ++thread.columns[events_ / width_];
    }
    ++events_;
  }
}

void TraceStat::widen() {
  width_ *= 2;
  for (Thread& thread : threads_) {
    for (std::size_t i = 0; i < kColumns / 2; ++i) {
      thread.columns[i] = thread.columns[2 * i] + thread.columns[2 * i + 1];
    }
    std::fill(thread.columns.begin() + kColumns / 2, thread.columns.end(), 0);
  }
}

std::vector<int> TraceStat::levels(const Thread& thread) const {
  std::vector<int> levels;
  for (std::size_t i = 0; i * width_ < events_; ++i) {
    const std::uint64_t all = std::min(width_, events_ - i * width_);
    levels.push_back(thread.columns[i] == 0 ? 0 : static_cast<int>(1 + thread.columns[i] * 7 / all));
  }
  return levels;
}

}  // namespace deadheat
