// Traces with races at chosen distances, hidden from happens-before by locks.
//
// Threads work in two halves. All of them take all the locks; inside, they write counters that nobody reads,
// and read and write data that only threads of their own half use. So locks order everything in the observed
// run, and what a thread read orders much of its own half, but nothing orders an access of one half with one
// of the other, however many thousand events lie between them. Every second planted access is made inside a
// critical section: the other half takes that lock again and again before its own access, so the order of
// critical sections must be turned round to show the race.
//
// *Decoys* look like planted races, nothing common protects them and no clock orders them, but they are none:
//  - by locks: a thread of the second half writes q and then d in a critical section; one of the first half
//    takes the lock, reads that q, leaves, and writes d. It has read q, so the section had begun; it had the
//    lock, so the section was over;
//  - by values: the second half sets (flag, number) to (1,0), (0,1), writes d, and sets (1,1), each under a
//    lock; the first half finds (1,1) under the lock and writes d. Either value alone may be an earlier one.
// What decoys tell goes from the second half to the first only, so that the planted races, whose second
// access is in the second half, stay what they are.
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
  int decoys = 0;                        // half of them by locks, half by values if there are values
  std::uint64_t seed = 1;
};

struct PlantedTrace {
  Trace trace;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> races;  // the planted pairs of events
  std::uint64_t decoys = 0;                                    // whose second access is in the trace
};

PlantedTrace far_races(const FarRaces& shape);

}  // namespace deadheat::bench
