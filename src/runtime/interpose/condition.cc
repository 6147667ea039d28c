// Condition variables. A wait is an unlock and a lock of its mutex. The signal itself orders nothing: C++, C
// and POSIX all allow a wait to return without one, so whatever a program relies on it must have seen under
// the mutex.
//
// glibc has two sets of these; programs of the last twenty years use GLIBC_2.3.2's.
#include "runtime/interpose/condition.h"

using namespace deadheat;
using namespace deadheat::interpose;

#define kConditions "GLIBC_2.3.2"

INTERPOSE_VERSION(int, pthread_cond_init, kConditions, pthread_cond_t* condition,
                  const pthread_condattr_t* attributes) {
  lane::write(condition, sizeof *condition, CALLER);
  return REAL(pthread_cond_init)(condition, attributes);
}

INTERPOSE_VERSION(int, pthread_cond_destroy, kConditions, pthread_cond_t* condition) {
  lane::write(condition, sizeof *condition, CALLER);
  return REAL(pthread_cond_destroy)(condition);
}

INTERPOSE_VERSION(int, pthread_cond_signal, kConditions, pthread_cond_t* condition) {
  lane::read(condition, 1, CALLER);
  return REAL(pthread_cond_signal)(condition);
}

INTERPOSE_VERSION(int, pthread_cond_broadcast, kConditions, pthread_cond_t* condition) {
  lane::read(condition, 1, CALLER);
  return REAL(pthread_cond_broadcast)(condition);
}

INTERPOSE_VERSION(int, pthread_cond_wait, kConditions, pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return wait_on_condition(condition, mutex, CALLER,
                           [=] { return REAL(pthread_cond_wait)(condition, mutex); });
}

INTERPOSE_VERSION(int, pthread_cond_timedwait, kConditions, pthread_cond_t* condition, pthread_mutex_t* mutex,
                  const struct timespec* until) {
  return wait_on_condition(condition, mutex, CALLER,
                           [=] { return REAL(pthread_cond_timedwait)(condition, mutex, until); });
}

INTERPOSE(int, pthread_cond_clockwait, pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
          const struct timespec* until) {
  return wait_on_condition(condition, mutex, CALLER,
                           [=] { return REAL(pthread_cond_clockwait)(condition, mutex, clock, until); });
}
