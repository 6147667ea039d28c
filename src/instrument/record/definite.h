// What the IR leaves open, made definite before it is saved.
//
// Recording and replay compile the same IR with different code around it. Where LLVM may choose (an undefined
// value, the order of a "fast" sum), the two could choose differently, and a replay would diverge although
// both are right. So the choice is made once, in the IR that both are made of:
//
// - undefined and poisoned operands are zero;
// - private locals start as zero, also after each lifetime.start: nobody else writes them before the program
// does;
// - fast-math flags have done their work when the optimiser is through, and are dropped;
// - a thread-local variable that is named directly gets llvm.threadlocal.address, whose result is logged.
#pragma once

#include <llvm/IR/Function.h>

namespace deadheat::instrument::record {

class PrivateLocals;

void make_definite(llvm::Function& function, PrivateLocals& locals);

}  // namespace deadheat::instrument::record
