// Read-write locks. A thread may hold a read lock several times; only the outermost pair is told. glibc keeps
// no count per thread, so a small table of ours does.
#include "runtime/interpose/recursion.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

__thread RecursionTable<16> read_held __attribute__((tls_model("initial-exec")));

// After a call of any result.
void read_after(pthread_rwlock_t* lock, int result, lane::Pc pc) {
  if (result == 0 && read_held.enter(lock))
    lane::lock_acquired(lock, lane::LockMode::kShared, lane::LockIs::kObject, pc);
  else
    lane::lock_only_used(lock, lane::LockMode::kShared, pc);
}
void write_after(pthread_rwlock_t* lock, int result, lane::Pc pc) {
  if (result == 0)
    lane::lock_acquired(lock, lane::LockMode::kExclusive, lane::LockIs::kObject, pc);
  else
    lane::lock_only_used(lock, lane::LockMode::kExclusive, pc);
}

void unlocking(pthread_rwlock_t* lock, lane::Pc pc) {
  if (!lane::hears_acquired_locks || read_held.leave(lock)) lane::lock_releasing(lock, pc);
}

}  // namespace

INTERPOSE(int, pthread_rwlock_init, pthread_rwlock_t* lock, const pthread_rwlockattr_t* attributes) {
  lane::write(lock, sizeof *lock, CALLER);
  return REAL(pthread_rwlock_init)(lock, attributes);
}
INTERPOSE(int, pthread_rwlock_destroy, pthread_rwlock_t* lock) {
  lane::write(lock, sizeof *lock, CALLER);
  int const result = REAL(pthread_rwlock_destroy)(lock);
  if (result == 0) lane::lock_destroyed(lock);
  return result;
}

#ifndef DEADHEAT_LANE_MONITOR
INTERPOSE(int, pthread_rwlock_rdlock, pthread_rwlock_t* lock) {
  lane::lock_wanted(lock, lane::LockMode::kShared, CALLER);
  int const result = REAL(pthread_rwlock_rdlock)(lock);
  read_after(lock, result, CALLER);
  return result;
}
INTERPOSE(int, pthread_rwlock_tryrdlock, pthread_rwlock_t* lock) {
  lane::lock_wanted(lock, lane::LockMode::kShared, CALLER);
  int const result = REAL(pthread_rwlock_tryrdlock)(lock);
  read_after(lock, result, CALLER);
  return result;
}
#endif
INTERPOSE(int, pthread_rwlock_timedrdlock, pthread_rwlock_t* lock, const struct timespec* until) {
  lane::lock_wanted(lock, lane::LockMode::kShared, CALLER);
  int const result = REAL(pthread_rwlock_timedrdlock)(lock, until);
  read_after(lock, result, CALLER);
  return result;
}
INTERPOSE(int, pthread_rwlock_clockrdlock, pthread_rwlock_t* lock, clockid_t clock,
          const struct timespec* until) {
  lane::lock_wanted(lock, lane::LockMode::kShared, CALLER);
  int const result = REAL(pthread_rwlock_clockrdlock)(lock, clock, until);
  read_after(lock, result, CALLER);
  return result;
}

#ifndef DEADHEAT_LANE_MONITOR
INTERPOSE(int, pthread_rwlock_wrlock, pthread_rwlock_t* lock) {
  lane::lock_wanted(lock, lane::LockMode::kExclusive, CALLER);
  int const result = REAL(pthread_rwlock_wrlock)(lock);
  write_after(lock, result, CALLER);
  return result;
}
INTERPOSE(int, pthread_rwlock_trywrlock, pthread_rwlock_t* lock) {
  lane::lock_wanted(lock, lane::LockMode::kExclusive, CALLER);
  int const result = REAL(pthread_rwlock_trywrlock)(lock);
  write_after(lock, result, CALLER);
  return result;
}
#endif
INTERPOSE(int, pthread_rwlock_timedwrlock, pthread_rwlock_t* lock, const struct timespec* until) {
  lane::lock_wanted(lock, lane::LockMode::kExclusive, CALLER);
  int const result = REAL(pthread_rwlock_timedwrlock)(lock, until);
  write_after(lock, result, CALLER);
  return result;
}
INTERPOSE(int, pthread_rwlock_clockwrlock, pthread_rwlock_t* lock, clockid_t clock,
          const struct timespec* until) {
  lane::lock_wanted(lock, lane::LockMode::kExclusive, CALLER);
  int const result = REAL(pthread_rwlock_clockwrlock)(lock, clock, until);
  write_after(lock, result, CALLER);
  return result;
}

INTERPOSE_RELEASES(int, pthread_rwlock_unlock, pthread_rwlock_t* lock) {
  unlocking(lock, CALLER);
  return REAL(pthread_rwlock_unlock)(lock);
}
