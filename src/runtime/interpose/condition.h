// The shape of every wait on a condition variable: the mutex is given up, and taken again whatever happens.
#pragma once

#include "runtime/interpose/mutex.h"

namespace deadheat::interpose {

struct WaitedMutex {
  pthread_mutex_t* mutex;
  lane::Pc pc;
};
inline void waited_mutex_is_back(void* waited) {
  lane::condition_waited();
  auto const* const w = static_cast<WaitedMutex*>(waited);
  mutex_locked(w->mutex, w->pc);
}

// `wait` is the real call. A thread cancelled in it gets the mutex back before its clean-up handlers run; so
// does the lane. A wait that fails at once (EPERM, EINVAL) never gave the mutex up: told as given up and
// taken again, which orders nothing that was not ordered.
template <class Wait>
int wait_on_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, lane::Pc pc, Wait wait) {
  lane::read(condition, 1, pc);
  WaitedMutex waited = {mutex, pc};
  bool const ours = !mutex_unlock_refused(mutex);
  if (!ours) return wait();
  if (!mutex_nested(mutex)) {
    lane::lock_releasing(mutex, pc);
    if ((mutex_kind(mutex) & kMutexRobust) == 0) lane::condition_waiting(mutex);
  }
  int volatile result = 0;
  pthread_cleanup_push(waited_mutex_is_back, &waited);
  result = wait();
  pthread_cleanup_pop(result != ENOTRECOVERABLE);  // a robust mutex that nobody will ever hold again
  return result;
}

}  // namespace deadheat::interpose
