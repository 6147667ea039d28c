// What is in a trace, in numbers: events by kind, and how busy each thread was when.
//
// Streaming, in memory that does not follow the trace: the first kMaxThreads threads are counted one by one,
// and a thread's timeline has a fixed number of columns whose width doubles whenever the trace outgrows them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/event.h"

namespace deadheat {

class TraceStat {
 public:
  static constexpr std::size_t kColumns = 64;
  static constexpr std::size_t kMaxThreads = 64;

  struct Thread {
    std::uint64_t events = 0;
    std::uint64_t accesses = 0;
    std::array<std::uint64_t, kColumns> columns{};  // events in each stretch of column_width() events
  };

  // The next events of the trace.
  void add(std::span<const Event> events);

  std::uint64_t events() const { return events_; }
  std::uint64_t of_kind(EventKind kind) const { return kinds_[static_cast<std::size_t>(kind)]; }
  std::uint64_t with_value() const { return with_value_; }
  // By id; threads from kMaxThreads on are not there.
  const std::vector<Thread>& threads() const { return threads_; }
  // Events of the trace that one column of a timeline stands for.
  std::uint64_t column_width() const { return width_; }
  // Between 0 and 8 for each column: which part of the events there was this thread's; 0 only for none.
  std::vector<int> levels(const Thread& thread) const;

 private:
  void widen();

  std::uint64_t events_ = 0;
  std::uint64_t width_ = 1;
  std::uint64_t with_value_ = 0;
  std::array<std::uint64_t, kEventKinds> kinds_{};
  std::vector<Thread> threads_;
};

}  // namespace deadheat
