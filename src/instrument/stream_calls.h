// Calls of libstdc++'s streams, which are compiled into the library.
//
// std::ostream and its like are templates that the library instantiates, so that a program only calls them.
// They cannot be compiled into the program as strings are (libstdc++/bits/basic_string.tcc): any number of
// threads may write to std::cout at once, which is not so for the same code on another stream. Nor
// interposed: of what is linked in statically there is no other one to call. But the call is in the program,
// with the stream at hand. So the runtime is told of it there, with how the function uses a stream, and looks
// at the stream to see what that is (runtime/watch/streams.cc).
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>

#include "instrument/hooks.h"

namespace deadheat::instrument {

// Of runtime/abi.h, by the name of the function that is called. 0: it is none of them.
uint32_t stream_use_of(llvm::StringRef name);

// Tells of every such call of `function`. True if there is one.
bool tell_of_streams(llvm::Function& function, Hooks& hooks);

}  // namespace deadheat::instrument
