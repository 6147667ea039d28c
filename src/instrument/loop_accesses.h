// The accesses of a counted loop become one check before the loop.
//
// A loop that walks an array asks about every element; one check of the whole range, before the loop, asks
// the same. The shapes, from scalar evolution of the address:
//
//   invariant    the same bytes in every iteration       -> one plain check before the loop
//   contiguous   step == size, forwards or backwards     -> one range check
//   strided      any other constant step                 -> one strided check
//
// Neighbours first become one: accesses of one line whose addresses differ by a constant and together leave
// no gap (an unrolled loop, the fields of an element). Loops are done from the inside out: a range check that
// stands before an inner loop is an access of the outer loop like any other, so a matrix walked row by row
// ends as one check.
//
// When is that exact? The check stands before the accesses it speaks for, so nothing in the loop may acquire
// or release (it would order, or stop ordering, something between the check and the access), and every access
// it speaks for must happen:
//   - nothing in the loop may throw, exit or run for ever: every call in it returns, every inner loop has a
//   known count;
//   - the access is executed in every iteration: its block dominates the loop's latches;
//   - the number of iterations is known before the loop: an access that dominates every exit happens once
//   more than the loop
//     goes back; one behind the only exit as often as it goes back. An invariant access only needs to happen
//     at all.
// Under these, for every byte, thread and moment, "some access of the loop races with b" and "the check races
// with b" are the same. The count is computed in 64 bits from the exact back-edge count; addresses are exact
// modulo 2^64. A count of zero is legal for the hooks and does nothing.
//
// What a fault does (a null pointer in the middle) is not considered: the program ends there.
//
// Tested by loop_accesses_test.cc.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>

#include "instrument/access_instrumenter.h"
#include "instrument/function_view.h"
#include "instrument/hooks.h"
#include "instrument/statistics.h"

namespace deadheat::instrument {

struct LoopAnalyses {
  llvm::LoopInfo& loops;
  llvm::ScalarEvolution& evolution;
  llvm::DominatorTree& dominators;
};

// How far a check is moved: out of all loops it may leave, or of the innermost one only, if that is counted.
enum class Hoisting { kAllLoops, kInnermostLoops };

// Moves checks out of loops and emits them. May add loop preheaders; keeps LoopInfo and the dominator tree up
// to date.
void hoist_loop_accesses(const FunctionView& view, LoopAnalyses analyses, Hooks& hooks,
                         AccessInstrumenter& instrumenter, Statistics& statistics,
                         Hoisting hoisting = Hoisting::kAllLoops);

}  // namespace deadheat::instrument
