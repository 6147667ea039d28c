// Long synthetic traces for benchmarks: valid, streamed, the same for the same shape and seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "trace/trace.h"

namespace deadheat::bench {

// The mix imitates what server programs do: bursts of work on a thread's own data, short critical sections on
// data that belongs to a lock, reads of data that was written before the threads started, and a few accesses
// that follow no rule.
struct Shape {
  std::uint64_t events = 1000000;
  int threads = 8;
  int locks = 64;
  int nesting = 2;              // locks held at a time, at most
  int hot_per_lock = 8;         // locations that belong to each lock
  int cold_per_thread = 20000;  // locations of one thread alone
  int read_only = 1000;         // written by the main thread before it forks the others
  int sites = 2000;
  int sync_percent = 12;               // of the events: acquires and releases
  int races = 20;                      // pairs of accesses to a location of their own, without a lock
  std::uint64_t race_distance = 1000;  // events between the two
  int chaos =
      0;  // if not 0, all accesses are to so many locations, from any thread and any site, under any lock
  std::uint64_t seed = 1;
};

class Generator final : public TraceSource {
 public:
  explicit Generator(const Shape& shape);
  const Names& names() const override { return names_; }
  Result<std::size_t> read(std::span<Event> out) override;

 private:
  struct Thread {
    std::vector<int> held;
    int burst = 0;
  };
  Event next_event();
  Event next_chaos();
  Event access(int thread, EventKind kind, std::uint64_t location, std::uint32_t site);
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  Shape shape_;
  Names names_;
  std::mt19937_64 random_;
  std::vector<Thread> threads_;
  std::vector<int> owner_;
  std::uint64_t hot_start_, cold_start_, read_only_start_, racy_start_;
  std::uint64_t position_ = 0;
  std::uint64_t initialised_ = 0;
  int forked_ = 1;
  int current_ = 0;
  std::uint64_t race_gap_;
  std::uint64_t next_race_;
  int racing_ = 0;                 // the pair whose second half is due
  std::uint64_t second_half_ = 0;  // when, 0 if none is
  int first_thread_ = 0;
};

}  // namespace deadheat::bench
