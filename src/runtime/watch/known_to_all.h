// What everybody knows: accesses that can race with nobody any more.
//
// An access can be part of a race only with a later one that does not know of it. As soon as every live
// thread has it in its past, so have all threads that are still to come (they start with what their creators
// know), and its record may go. Most memory is filled by one thread before the others exist, or between two
// barriers: without this, the write that everybody saw would stay in its cell beside each thread's reads of
// it for ever, and two readers would make three records of what is, for all that can still happen, two.
//
// Per slot, `known_to_all` is the largest clock that all live threads but the slot's owner know of; it is
// brought up to date now and then (clocks only grow, so what is written here stays true). It costs threads
// times slots, so it is done the more seldom the more there are: see Thread::until_known.
//
// A thread that waits in pthread_join does nothing before it knows all that the other one knows by then. It
// counts as knowing what that one knows now; otherwise a main thread that waits for its workers would
// keep everything alive. That is not so where the wait can be cut short and the thread goes on without that
// knowledge: a signal's handler runs in it, or it is cancelled. Once the program has set up either, waiting
// threads count as what they are. (What was known to all until then was known to the thread that set it up.)
//
// A thread that waits for a condition does nothing before it has the mutex again, and then it knows what the
// mutex carries: at least what it carries now, because whoever has it in between learns that and hands it on.
// A pool's idle workers count as knowing what was put into the pool, therefore; otherwise nothing that was
// done while they slept could be forgotten. The same exceptions as above; and somebody who has the mutex and
// ignores what it carries.
//
// While only two threads can act, because there are no more or because the others wait for one of them,
// nothing needs to be looked up: what one of them did and the other knows, everybody knows
// (`both_acting_slots`). It is changed with the registry locked, before a third one starts or after it has
// begun to wait. Whoever sees it too late has not yet been told anything by the thread that created the third
// one since, so what it drops was done before, and the third one knows it. What somebody else did, who has
// ended, is another matter.
#pragma once

#include <stdint.h>

#include "runtime/watch/epoch.h"

namespace deadheat::watch {

struct Thread;

extern uint32_t known_to_all[kSlots];

inline uint32_t known_clock(uint32_t slot) { return __atomic_load_n(&known_to_all[slot], __ATOMIC_RELAXED); }
inline bool is_over(Epoch e) { return known_clock(e.slot()) >= e.clock(); }

// Brings it up to date, unless somebody else is at the registry of threads. Returns how many slow accesses
// a thread should make before it asks again.
uint32_t advance_known_to_all();

// The sum of their two slots; 0 while more than two can act.
extern uint32_t both_acting_slots;
// After a change of who lives and who waits. REQUIRES: the registry is locked; `live` is its list.
void note_who_can_act(const Thread* live);

// From now on a wait for a thread may end without the thread having ended.
void waits_may_be_cut_short();

}  // namespace deadheat::watch
