// Naive references for detectors that look beyond the observed order, and for lock disciplines.
#pragma once

#include "testing/naive.h"

namespace deadheat::testing {

// Schedulable happens-before races: conflicting pairs that happens-before together with "a write before the
// reads that see it" does not order, not counting the edge into the later access itself.
EventPairs shb_races(const Trace& trace);

// The fixpoint of the three rules of weak causal precedence (see wcp.cc for fork, join and messages).
Relation wcp_order(const Trace& trace);
EventPairs wcp_races(const Trace& trace);

// Explores all sync-preserving reorderings: exponential, for traces of a dozen events.
EventPairs syncp_races(const Trace& trace);

// For each location at fault, the event at which it is found out.
std::map<std::uint64_t, std::size_t> eraser_faults(const Trace& trace);
std::map<std::uint64_t, std::size_t> hybrid_faults(const Trace& trace);

}  // namespace deadheat::testing
