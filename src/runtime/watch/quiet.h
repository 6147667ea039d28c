// Atomic operations that release nothing, at locations nobody has released to.
//
// Most atomics never carry anything: counters, flags, marks that are relaxed. As long as nobody released to a
// granule, its cell says so (`carries_nothing`), and an operation that releases nothing is an access like any
// other:
//   - Whoever is about to release makes the cell say otherwise first. A load that finds that nothing is
//     carried after it has read the value has read one that carries nothing.
//   - Stores and read-modify-writes are part of the order in which the location changes, and must know on
//     which side of the first release they stand. Each thread says which granule it is at (`quiet_granule`)
//     from before it looks at the cell for the last time until the value has changed. Who releases changes
//     the cell first, then waits until nobody is at that granule.
//
// So one of the two sees the other, as long as both write before they look. The operation that looks does so
// by the compare-and-swap that records its access, which is a fence, or, if it is covered, after an exchange.
//
// Whom to wait for, the granule itself tells: who is at it has a record there, of its present label, since
// before it looked. Nobody else knows that label before the operation is over, so no access of another thread
// supersedes the record, unless it is a race: once the program has any, all threads are asked.
#pragma once

#include <stdint.h>

#include "runtime/watch/atomic_access.h"
#include "runtime/watch/covered.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

// How a value is changed; returns the old one.
using Change = uint64_t (*)(uintptr_t address, uint64_t operand);

// Is an atomic access of this thread, to bytes and of a kind as in `need`, covered at a glance?
inline bool is_covered_atomic(const DhCell& cell, uint64_t floor, uint64_t need) {
  return missing_in(cell.half[0], floor, need, kOutsideWindow) == 0 ||
         missing_in(cell.half[1], floor, need, kOutsideWindow) == 0;
}

// These do the operation, and go the general way if something is carried there.
// REQUIRES: thread->may_be_quick(); `cell` is that of `address`.
template <class T>
uint64_t quiet_load(uintptr_t address, Operation what, uintptr_t pc, DhCell* cell);
uint64_t quiet_store(uintptr_t address, uint64_t operand, Change change, Operation what, uintptr_t pc,
                     DhCell* cell);
uint64_t quiet_modify(uintptr_t address, uint64_t operand, Change change, Operation what, uintptr_t pc,
                      DhCell* cell);

// Around an operation of which it is not known before whether it writes. False, with nothing done: go the
// general way. Between the two nothing may be waited for.
bool begin_quiet(Thread* thread, uintptr_t address, Operation what, uintptr_t pc, DhCell* cell);
void end_quiet(Thread* thread, uintptr_t address, Operation what, uintptr_t pc, DhCell* cell, bool wrote);

// The granule that this thread is at; 0: none.
uintptr_t quiet_granule_of(const Thread* thread);
void set_quiet_granule_of(const Thread* thread, uintptr_t granule);

// The cell of `address` is about to carry something, and says so already.
void wait_for_quiet_operations(const Thread* thread, FatCell* fat, uintptr_t address);

}  // namespace deadheat::watch
