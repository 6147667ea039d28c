// One-time initialisation. The release must stand between the end of the routine and the moment the others
// are let go, so the routine itself is wrapped; libc gives it no argument, so it finds its own in a
// thread-local variable. A routine that throws or is cancelled leaves the flag as it was, and nothing was
// released.
#include "runtime/interpose/once.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace deadheat::interpose {

__thread PendingOnce pending_once;

void run_once_routine() {
  PendingOnce const mine = pending_once;
  mine.routine();
  lane::release(mine.control);
}

}  // namespace deadheat::interpose

// std::call_once arrives here too.
INTERPOSE(int, pthread_once, pthread_once_t* control, void (*routine)()) {
  pending_once = PendingOnce{control, routine};
  int const result = REAL(pthread_once)(control, run_once_routine);
  if (result == 0) lane::acquire(control);
  return result;
}
