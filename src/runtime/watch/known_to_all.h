// What everybody knows: accesses that can race with nobody any more.
//
// An access can be part of a race only with a later one that does not know of it. As soon as every live thread has
// it in its past, so have all threads that are still to come (they start with what their creators know), and
// its record may go. Most memory is filled by one thread before the others exist, or between two barriers: without this,
// the write that everybody saw would stay in its cell beside each thread's reads of it for ever, and two
// readers would make three records of what is, for all that can still happen, two.
//
// Per slot, `known_to_all` is the largest clock that all live threads but the slot's owner know of; it is
// brought up to date now and then (clocks only grow, so what is written here stays true). It costs threads
// times slots, so it is done the more seldom the more there are: see Thread::until_known.
//
// A thread that waits in pthread_join does nothing before it knows all that the other one knows by then. It
// counts as knowing what that one knows now; otherwise a main thread that waits for its workers would
// keep everything alive. That is not so where the wait can be cut short and the thread goes on without that knowledge: a
// signal's handler runs in it, or it is cancelled. Once the program has set up either, waiting threads count
// as what they are. (What was known to all until then was known to the thread that set it up.)
#pragma once

#include <stdint.h>

#include "runtime/watch/epoch.h"

namespace deadheat::watch {

extern uint32_t known_to_all[kSlots];

inline bool is_over(Epoch e) {
  return __atomic_load_n(&known_to_all[e.slot()], __ATOMIC_RELAXED) >= e.clock();
}
// The same for half of a cell, a part of which must be there.
inline bool is_over(uint64_t half) { return is_over(Epoch::from_bits(half >> kDhEpochShift)); }

// Brings it up to date, unless somebody else is at the registry of threads. Returns how many slow accesses
// a thread should make before it asks again.
uint32_t advance_known_to_all();

// From now on a wait for a thread may end without the thread having ended.
void waits_may_be_cut_short();

}  // namespace deadheat::watch
