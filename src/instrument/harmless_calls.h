// Library functions that order nothing between threads.
//
// A call of a function whose body is not seen may release: through a file, a queue, a timer, a message, a
// lock file, a name in a directory that somebody polls, a child process. No list of those is complete. So in
// the monitor lane every call into a library ends monitors, unless the runtime interposes the function (and
// then tells what it releases) or the function is one of these: what another thread does can never follow
// from their having been called.
//
// They still count as unknown in every other way: what comes after them is not certain before them. And they
// are harmless only where they are the C or C++ library's own (the runtime looks at the address): a program
// may bring its own `operator new`.
//
// Not here, though they look harmless: whatever writes to a stream or may do so, changes a file, a directory
// or a descriptor, sets a timer, sends a signal or jumps (longjmp leaves call-backs without returning),
// throws on purpose, or calls something back.
#pragma once

#include <llvm/ADT/StringRef.h>

namespace deadheat::instrument {

bool is_harmless_library_function(llvm::StringRef name);

}  // namespace deadheat::instrument
