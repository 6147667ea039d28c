// Which code is visible: instrumented, or part of a library whose releases the runtime hears of by
// interposition.
//
// A release in invisible code (atomics in a library that was built without the wrappers, libgomp's barriers,
// ...) stops no monitor by itself, so monitors end where the program goes there: at calls of it, and at
// returns to it from call-backs. What is visible is decided by looking at code, once per address:
//
//   instrumented functions   carry DEADHEAT_FUNCTION_MARK in front of their first instruction; for a return
//   address, the
//                            function around it is found in the unwind tables (.eh_frame_hdr)
//   the runtime              interposed functions, which tell the lane what they do
//   libc, libm, the loader, libstdc++, libgcc_s: what orders threads in them is interposed
//   (docs/interposition.md)
//
// Everything else is invisible, and so is whatever cannot be decided.
#pragma once

#include <stdint.h>

namespace deadheat::monitor {

bool is_visible_function(uintptr_t function);
bool is_visible_return(uintptr_t return_address);

}  // namespace deadheat::monitor
