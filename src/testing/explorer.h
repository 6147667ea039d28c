// The oracle of prediction: every correct reordering of a small trace, one step at a time.
//
// This file states the definition that `mcm` and `rdit` implement by other means; docs/prediction.md says the
// same in prose. It shares no code with them.
//
// A *correct reordering* of a trace executes, of each thread, a prefix of its events, so that
//   1. a lock is taken only when no other thread holds it (it may stay held: its release need not be
//   executed);
//   2. a thread's first event comes after its fork, a join after the fork and all events of its child (it may
//      have none), rcv(m) after every snd(m) that the trace shows before it;
//   3. reads that matter see what they saw. A read sees its value if the last write executed before it is
//   *faithful* and is
//      the one it saw in the trace, or is known to have written the same value (a location never written
//      holds 0; of a write and the reads that saw it in the trace, all values are known if one says it). A
//      write is faithful if all earlier reads of its thread saw their values; what others write
//      is unknown. In a trace with `branch` events, a read matters to the later branches of its thread: a
//      thread one of whose reads did not see its value executes no branch any more. In a trace without them
//      every read matters to whatever follows it, its thread's being joined included: such a thread executes
//      nothing any more, and is never joined.
// A *race* is a pair of conflicting accesses of two threads that are both the next event of their thread
// after some correct reordering. A racing read need not see its value.
//
// With `barriers` (rdit), missing code becomes events of its own. At every moment between two events of the
// trace, each open BarrierPair acts, as often as there are open BarrierPairs, so that any of them may have
// waited for any other. Such an *act* belongs to the calling thread and touches every location that the call
// can reach: it depends on all earlier reads of its thread; it must find each location as it was (by the rule
// above), and leaves an unknown content there that only the reads which saw it see again. And acts are never
// reordered: not with acts of another call that can reach a common location, nor with events on a reachable
// object, that is accesses of a location, and operations on a lock, a message or a thread of the same name (a
// thread's first and last events, whatever they are, are operations on it). An act that can reach a thread
// and comes after the thread's last event counts as a join of it. A thread whose last event lies in a call
// that it never leaves has one more call open from then on, which reaches the thread's own name. `end`, and a
// join of the thread, end its calls.
// Acts that can reach a lock may take and release it for their thread. After such an act the thread holds the
// lock as often as it releases it, until the next such act, without having taken it.
//
// Cost: exponential. For traces of some 15 events.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "trace/trace.h"

namespace deadheat::testing {

struct ExplorerOptions {
  bool barriers = false;  // rdit's definition; otherwise enter and leave do nothing
  std::uint64_t max_states = 5'000'000;
};

struct Exploration {
  std::set<std::pair<std::uint64_t, std::uint64_t>> races;  // event numbers, the smaller one first
  bool complete = true;                                     // false if max_states was reached
  std::uint64_t states = 0;
};

// REQUIRES: a well-formed trace (trace/checker.h).
Exploration explore(const Trace& trace, const ExplorerOptions& options = {});

}  // namespace deadheat::testing
