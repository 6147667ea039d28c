// Gives accesses that have lost their source line one that a person recognises.
#pragma once

namespace llvm {
class Function;
}

namespace deadheat::instrument {

// The optimiser takes the line away from what it moves out of a loop or merges from two branches, so that a
// debugger does not jump about. A report that says "line 0" helps nobody: such an access gets the line of the
// first instruction that uses its value, else, as such a call does, of its nearest neighbour in the block or
// of what leads there. Nothing changes in functions without debug info.
void restore_source_lines(llvm::Function& function);

}  // namespace deadheat::instrument
