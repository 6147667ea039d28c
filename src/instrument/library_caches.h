// Benign races of libraries that are compiled into programs.
//
// libstdc++'s std::ctype<char> remembers what it has narrowed and widened, in tables of bytes that any thread
// fills in when it first needs one, without any order; all write the same. std::regex and the streams come by
// there. The accesses are in inline functions, so that they are the program's as far as a compiler can tell;
// they are marked before anything is inlined, and what is marked is not looked at.
#pragma once

#include <llvm/IR/Function.h>

namespace deadheat::instrument {

// Marks the plain loads and stores of `function` if they are such a cache's.
void mark_library_caches(llvm::Function& function);

}  // namespace deadheat::instrument
