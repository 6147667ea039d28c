// Random small traces for comparing detectors with their oracles: well-formed by construction, dense in the
// cases that matter (nested and recursive locks, reads that see the same value from several writes, threads
// that are never joined, critical sections still open at the end, nested and overlapping BarrierPairs).
#pragma once

#include <cstdint>

#include "trace/trace.h"

namespace deadheat::testing {

struct SmallTraceShape {
  int min_events = 5;
  int max_events = 13;
  int max_threads = 4;
  int max_locks = 2;
  int max_locations = 3;
  double writes = 0.5;    // chance that an access is a write
  double values = 0;      // chance that an access says its value
  bool sections = false;  // short critical sections, mostly not interrupted
  bool branches = false;
  bool joins = false;  // threads are forked, end early and are joined
  bool churn = false;  // with joins: many threads do nothing between their fork and their join
  bool messages = true;
  bool barriers = false;  // also: missing code changes what locations hold
  // Missing code starts and awaits threads: calls reach threads' names, and are the first and the last things
  // that threads do. Some never come back.
  bool calls_on_threads = false;
  bool calls_on_locks = false;  // missing code takes and releases locks
};

// The same seed and shape give the same trace everywhere.
Trace small_trace(std::uint64_t seed, const SmallTraceShape& shape);

}  // namespace deadheat::testing
