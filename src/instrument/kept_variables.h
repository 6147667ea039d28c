// Variables of a loop's body that may keep what is known of them from one round to the next.
//
// A temporary that is handed to a function in a loop is written, read and ended in every round, and the next
// one takes its place: the same bytes, written by the same store. If nothing can see the new one before all
// of it is written, nobody can tell the two from one variable that lives as long as the function and is
// assigned to, but for one thing: who touches the old one after its scope, or unordered with its end, races
// with that end. So its records stay, and its write in the next round is covered by that in this one; at the
// end of its scope it is only asked whether somebody else was there (`__dh_end_of_scope`), and its life ends
// with the function's.
//
// That takes: after each start of the scope, on every way, stores to all bytes before any other use; whole
// granules; and a place in the frame that is no other variable's, which is so once the markers of its scope
// are gone. Functions that an exception may leave are left alone: nothing would end such a variable then.
//
// Tested by kept_variables_test.cc.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace deadheat::instrument {

using KeptVariables = llvm::SmallPtrSet<const llvm::AllocaInst*, 8>;

// Those of `escaping`. REQUIRES: the function is not instrumented yet.
KeptVariables kept_variables(const llvm::Function& function, llvm::ArrayRef<llvm::AllocaInst*> escaping,
                             const llvm::LoopInfo& loops);

}  // namespace deadheat::instrument
