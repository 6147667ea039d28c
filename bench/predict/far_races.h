// Traces with races at chosen distances, hidden from happens-before by locks.
//
// Threads work in two halves. All of them take all the locks; inside, they write counters that nobody reads,
// and read and write data that only threads of their own half use. So locks order everything in the observed
// run, and what a thread read orders much of its own half, but nothing orders an access of one half with one
// of the other, however many thousand events lie between them. Every second planted access is made inside a
// critical section: the other half takes that lock again and again before its own access, so the order of
// critical sections must be turned round to show the race.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace deadheat::bench {

struct FarRaces {
  std::uint64_t events = 25'000;
  int threads = 4;
  int locks = 8;
  std::vector<std::uint64_t> distances;  // one race each
  bool values = false;                   // accesses say their values, of which there are few
  bool mailboxes = false;                // neighbouring threads pass things on, by flags; with values
  bool calls = false;                    // some sections are calls into code that was not traced
  std::uint64_t seed = 1;
};

struct PlantedTrace {
  Trace trace;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> races;  // the planted pairs of events
};

PlantedTrace far_races(const FarRaces& shape);

}  // namespace deadheat::bench
