// Where the lives of a function's locals end: what the watch lane's FunctionFrames does, on recorded IR.
//
// A local that is a point of the plan (its address leaves the function's registers) may be shared. Its life
// ends with its scope (`llvm.lifetime.end`) where the compiler kept it, else where the stack is cut back
// (arrays of variable length) or the function is left. Whoever still uses it then races with the end, and
// what comes to its place later has no past.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include "instrument/record/plan.h"

namespace deadheat::replay {

struct EndOfLife {
  llvm::Value* variable;      // an alloca, or an argument passed by value
  llvm::Instruction* before;  // a lifetime marker of the plan, a return, a resume, or a stackrestore
};

llvm::SmallVector<EndOfLife, 8> ends_of_locals(const instrument::record::FunctionPlan& plan);

// Those of a function's instructions before which lives may end and that are no points of the plan.
llvm::SmallVector<llvm::Instruction*, 8> unplanned_ends(const instrument::record::FunctionPlan& plan);

}  // namespace deadheat::replay
