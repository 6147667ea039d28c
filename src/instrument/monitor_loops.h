// Innermost loops in two versions: with monitors, and without a trace of them.
//
// A loop of a few instructions that looks at the gate in every iteration is slower by more than the look: it
// has more blocks, and the code generator no longer sees what it could do with one. So an innermost loop that
// does nothing but compute is copied, and the gate is looked at once before it: closed, the copy runs, which
// is the loop as it was; open, the original, in which monitors start. A loop that is entered with the gate
// closed does not notice it being opened; the next entry does.
//
// Only loops that are worth it: sure to end, no calls, no atomics, few enough instructions, and nothing
// defined inside of which a monitor is started outside.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>

#include "instrument/monitor_placement.h"

namespace deadheat::instrument {

// Returns how many loops were copied. REQUIRES: nothing was emitted yet for `placement`. Invalidates scalar
// evolution.
unsigned copy_innermost_loops(llvm::Function& function, const InterferenceFreeRegions& regions,
                              const Placement& placement, llvm::GlobalVariable& gate, llvm::LoopInfo& loops,
                              llvm::DominatorTree& dominators, llvm::ScalarEvolution& evolution);

}  // namespace deadheat::instrument
