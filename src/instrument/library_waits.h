// What waits and notifications of atomics do inside of the C++ library orders nothing.
//
// std::atomic's wait and notify, and what is made of them (latches, barriers, semaphores, stop tokens), go by
// a pool of counters that is shared by all atomics of the program. It is in a header of libstdc++, so that
// its operations are the program's as far as a compiler can tell, and most of them are sequentially
// consistent. The language knows of no order between a wait and a notification but that of the atomic's own
// operations, and a program that relies on more has a race. So the operations of the pool are marked before
// anything is inlined, and count as relaxed ones.
#pragma once

#include <llvm/IR/Function.h>

namespace deadheat::instrument {

// Marks the atomic operations of `function` if they are the library's own.
void mark_library_waits(llvm::Function& function);
bool is_of_library_wait(const llvm::Instruction& instruction);

}  // namespace deadheat::instrument
