// Which code is visible: instrumented, or the runtime's own, which tells what it releases.
//
// A release in invisible code (atomics in a library that was built without the wrappers, libgomp's barriers,
// a message that libc sends by a call that is not interposed, ...) stops no monitor by itself, so monitors
// end where the program goes there: at calls of it, and at returns to it from call-backs. What is visible is
// decided by looking at code, once per address:
//
//   instrumented functions   carry DEADHEAT_FUNCTION_MARK in front of their first instruction; for a return
//                            address, the function around it is found in the unwind tables (.eh_frame_hdr)
//   the runtime              interposed functions. Not for returns: what a call-back returns to in the
//                            runtime or in libc (qsort, atexit, ...) may go on to return to anything
//
// Everything else is invisible, and so is whatever cannot be decided. libc, libm, the loader, libstdc++ and
// libgcc_s are invisible too, but for functions that the compiler knows by name to release nothing
// (src/instrument/harmless_calls.h).
#pragma once

#include <stdint.h>

namespace deadheat::monitor {

bool is_visible_function(uintptr_t function);
// For functions that release nothing if they are the C or C++ library's.
bool is_visible_or_library(uintptr_t function);
bool is_visible_return(uintptr_t return_address);
// Inside an interposed function?
bool is_interposer(uintptr_t address);

}  // namespace deadheat::monitor
