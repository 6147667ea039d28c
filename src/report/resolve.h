// From a raw log to instances: addresses become places, runtime frames disappear, each access gets the place
// that a person would point at.
#pragma once

#include "report/finding.h"
#include "report/raw.h"
#include "report/symbolizer.h"

namespace deadheat::report {

// One finding per race of the log, not merged, with no fingerprint yet.
Finding resolve(const RawLog& log, const RawRace& race, Symbolizer& symbolizer);

// Takes what Deadheat itself put on a stack off it: frames of `__dh_*` hooks and of the `deadheat::`
// namespace. A call that the runtime stands in for (memcpy, pthread_create) stays, as a frame with no source:
// the user called it.
void hide_runtime_frames(Stack& stack);

// Where the access is, for a person: the innermost frame in the program's own code. What the standard library
// does on a caller's behalf (a std::vector growing, a memcpy) is on the stack, but the place is the caller's.
// Falls back to the innermost frame.
Location place_of(const Stack& stack);

}  // namespace deadheat::report
