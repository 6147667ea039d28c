// Whose code a frame of a stack is: the program's own, a library's, or Deadheat's.
#pragma once

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

}  // namespace deadheat::report
