// One-time initialisation. All executions of the routine for one flag come one after the other, those that
// did not complete included: each starts by acquiring what the one before released. The release must stand
// between the end of the routine and the moment the others are let go, so the routine itself is wrapped; libc
// gives it no argument, so it finds its own in a thread-local variable.
//
// A routine may also be left by an exception, by cancellation or by pthread_exit. All of these unwind, so the
// frame of the wrapper has a personality routine of its own: C programs have no C++ library whose one could
// find a destructor.
#include "runtime/interpose/once.h"

#include <unwind.h>

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

// The routines that this thread is in, the innermost first.
struct RunningOnce {
  const void* control;
  RunningOnce* outer;
};
__thread RunningOnce* running_once;

void once_routine_ended() {
  RunningOnce const* const ended = running_once;
  running_once = ended->outer;
  lane::release(ended->control);
}

}  // namespace

// Asked about run_once_routine's frame only. The second time round, that frame is being left.
extern "C" __attribute__((visibility("hidden"), used)) _Unwind_Reason_Code
deadheat_once_unwinding(int, _Unwind_Action actions, uint64_t, _Unwind_Exception*, _Unwind_Context*) {
  if ((actions & _UA_CLEANUP_PHASE) != 0) once_routine_ended();
  return _URC_CONTINUE_UNWIND;
}

namespace deadheat::interpose {

__thread PendingOnce pending_once;

__attribute__((noinline)) void run_once_routine() {
  // 0x1b: four bytes, relative to where they are.
  __asm__ volatile(".cfi_personality 0x1b, deadheat_once_unwinding");
  PendingOnce const mine = pending_once;
  RunningOnce running = {mine.control, running_once};
  running_once = &running;
  lane::acquire(mine.control);
  mine.routine();
  once_routine_ended();
}

}  // namespace deadheat::interpose

// std::call_once arrives here too.
INTERPOSE(int, pthread_once, pthread_once_t* control, void (*routine)()) {
  pending_once = PendingOnce{control, routine};
  int const result = REAL(pthread_once)(control, run_once_routine);
  if (result == 0) lane::acquire(control);
  return result;
}
