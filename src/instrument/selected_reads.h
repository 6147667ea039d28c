// Of two variables the program reads one: `c ? a : b`.
//
// LLVM's InstCombine likes to read both, `select c, (load a), (load b)` for `load (select c, a, b)`, wherever
// neither read can fault, and no attribute forbids it. To the program that is the same. To a checker it is a
// read that nobody made, and a false alarm if another thread writes the variable that was not chosen: two
// buffers that take turns, two queues with a lock each.
//
// So the reads of a function are marked before InstCombine, and what is behind it: reads that have no mark,
// of which one is selected, are made one read again. If only one of the two is left (the other one is a
// constant, or was known already), the one that is not to be read is replaced by a variable that nobody ever
// writes. The next InstCombine does the same again, and so does this.
//
// A program that does read both first and selects then has marks on its reads, and they stay as they are.
//
// The same with vectors: where a loop touches some elements only, the vectorizer reads under a mask, and
// InstCombine makes that a read of all of them wherever it cannot fault. It becomes one under a mask again.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/ValueHandle.h>

#include <vector>

namespace deadheat::instrument {

// Of each read under a mask: the mask.
using Masks = std::vector<llvm::WeakTrackingVH>;

Masks mark_reads(llvm::Function& function);
// Returns how many there were. Takes the marks away. `masks`: what mark_reads has returned.
unsigned unite_selected_reads(llvm::Function& function, const Masks& masks);

// Both, around each InstCombine.
void keep_selected_reads(llvm::PassInstrumentationCallbacks& callbacks);

}  // namespace deadheat::instrument
