// Whose code a frame of a stack is: the program's own, a library's, or Deadheat's.
#pragma once

#include <string>

#include "report/finding.h"

namespace deadheat::report {

// Takes what Deadheat itself put on a stack off it: frames of `__dh_*` hooks and of the `deadheat::`
// namespace. A call that the runtime stands in for (memcpy, pthread_create) stays, as a frame with no source:
// the user called it.
void hide_runtime_frames(Stack& stack);

// Where something happened, for a person: the innermost frame in the program's own code. What the standard
// library does on a caller's behalf (a std::vector growing, a memcpy) is on the stack, but the place is the
// caller's. Falls back to the innermost frame.
Location own_frame(const Stack& stack);

// A header of the system or of the standard library, or code of a library that came with the system.
bool is_foreign(const Location& frame);

// A call that the runtime stands in for: the name is all there is to say.
bool is_interposed(const Location& frame);

// The stack without what is below the program's own code: how the C library starts a thread is the same for
// everybody.
Stack without_thread_start(const Stack& stack);

// How a frame is written for people: own functions in full, foreign ones by name; "<bits/stl_vector.h>:1294"
// for headers.
std::string function_text(const Location& frame);
std::string frame_place_text(const Location& frame);

}  // namespace deadheat::report
