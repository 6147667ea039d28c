// Barriers, per generation: what a thread did before it arrived is ordered before what the others of the same
// generation do after they leave, and before nothing else. The lane may be told that a barrier is destroyed
// before it is told that the slower threads have left: that is allowed, and common.
#include "runtime/interpose/interpose.h"

using namespace deadheat;
using namespace deadheat::interpose;

INTERPOSE(int, pthread_barrier_init, pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes,
          unsigned count) {
  lane::write(barrier, sizeof *barrier, CALLER);
  int const result = REAL(pthread_barrier_init)(barrier, attributes, count);
  if (result == 0) lane::barrier_initialised(barrier, count);
  return result;
}
INTERPOSE(int, pthread_barrier_wait, pthread_barrier_t* barrier) {
  lane::read(barrier, 1, CALLER);
  lane::BarrierTicket const ticket = lane::barrier_arrive(barrier);
  int const result = REAL(pthread_barrier_wait)(barrier);
  if (result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD) lane::barrier_leave(barrier, ticket);
  return result;
}
INTERPOSE(int, pthread_barrier_destroy, pthread_barrier_t* barrier) {
  lane::write(barrier, sizeof *barrier, CALLER);
  // It waits for the threads still on their way out.
  int const result = REAL(pthread_barrier_destroy)(barrier);
  if (result == 0) lane::barrier_destroyed(barrier);
  return result;
}
