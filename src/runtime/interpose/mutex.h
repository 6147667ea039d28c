// What mutex.cc, condition.cc and c11_threads.cc know about a mutex.
//
// Whether a lock or unlock is the outermost one, and whether an unlock is going to be refused, is read from
// the mutex itself (its layout is part of glibc's ABI: PTHREAD_MUTEX_INITIALIZER is compiled into programs).
// No table of ours, so nothing to grow, to lock or to get out of step with.
#pragma once

#include "runtime/interpose/interpose.h"

namespace deadheat::interpose {

enum : int { kMutexTypeMask = 3, kMutexRobust = 16 };

inline int mutex_kind(const pthread_mutex_t* mutex) {
  return __atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);
}

// Neither recursive, error-checking nor robust: whoever has it has it once, and no unlock is refused.
inline bool mutex_is_plain(const pthread_mutex_t* mutex) {
  return __builtin_expect((mutex_kind(mutex) & (kMutexTypeMask | kMutexRobust)) == PTHREAD_MUTEX_TIMED_NP, 1);
}

// Locked by this thread more than once. REQUIRES: this thread holds it, or knows that it owns it.
inline bool mutex_nested(const pthread_mutex_t* mutex) {
  return (mutex_kind(mutex) & kMutexTypeMask) == PTHREAD_MUTEX_RECURSIVE_NP && mutex->__data.__count > 1;
}

// An unlock by this thread fails: the kinds that check their owner, and somebody else is it.
inline bool mutex_unlock_refused(const pthread_mutex_t* mutex) {
  int const kind = mutex_kind(mutex);
  int const type = kind & kMutexTypeMask;
  if (type != PTHREAD_MUTEX_RECURSIVE_NP && type != PTHREAD_MUTEX_ERRORCHECK_NP &&
      (kind & kMutexRobust) == 0) {
    return false;
  }
  int const owner = __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);
  // A robust mutex whose owner died, before pthread_mutex_consistent, has INT_MAX or 0 there, and is ours.
  if ((kind & kMutexRobust) != 0) {
    constexpr int kFutexTidMask = 0x3fffffff;
    int const word = __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED);
    return static_cast<uint32_t>(word & kFutexTidMask) != current_tid();
  }
  return static_cast<uint32_t>(owner) != current_tid();
}

inline void mutex_wanted(pthread_mutex_t* mutex, lane::Pc pc) {
  lane::lock_wanted(mutex, lane::LockMode::kExclusive, pc);
}

// After a locking call that returned success, or EOWNERDEAD: then, too, the caller has the lock.
inline void mutex_locked(pthread_mutex_t* mutex, lane::Pc pc) {
  if (mutex_is_plain(mutex))
    return lane::lock_acquired(mutex, lane::LockMode::kExclusive, lane::LockIs::kObject, pc);
  if ((mutex_kind(mutex) & kMutexRobust) != 0) thread_state.robust = true;
  if (mutex_nested(mutex))
    lane::lock_only_used(mutex, lane::LockMode::kExclusive, pc);
  else
    lane::lock_acquired(mutex, lane::LockMode::kExclusive, lane::LockIs::kObject, pc);
}

// After a locking call of any result.
inline void mutex_after(pthread_mutex_t* mutex, bool has_lock, lane::Pc pc) {
  if (has_lock)
    mutex_locked(mutex, pc);
  else
    lane::lock_only_used(mutex, lane::LockMode::kExclusive, pc);
}

// Before an unlocking call.
inline void mutex_unlocking(pthread_mutex_t* mutex, lane::Pc pc) {
  if (!lane::hears_acquired_locks || mutex_is_plain(mutex) ||
      (!mutex_unlock_refused(mutex) && !mutex_nested(mutex)))
    lane::lock_releasing(mutex, pc);
}

// A thread that ends while it holds robust mutexes gives them up: the next owner is ordered after its end.
void release_robust_mutexes();

}  // namespace deadheat::interpose
