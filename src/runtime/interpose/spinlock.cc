// pthread spinlocks.
#include "runtime/interpose/interpose.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {
// An int that libc changes while others read it: only its address matters to us.
void* object(pthread_spinlock_t* lock) { return const_cast<int*>(lock); }

void after(pthread_spinlock_t* lock, int result, lane::Pc pc) {
  if (result == 0)
    lane::lock_acquired(lock, lane::LockMode::kExclusive, lane::LockIs::kObject, pc);
  else
    lane::lock_only_used(object(lock), lane::LockMode::kExclusive, pc);
}
}  // namespace

INTERPOSE(int, pthread_spin_init, pthread_spinlock_t* lock, int shared) {
  lane::write(object(lock), sizeof *lock, CALLER);
  return REAL(pthread_spin_init)(lock, shared);
}
INTERPOSE(int, pthread_spin_destroy, pthread_spinlock_t* lock) {
  lane::write(object(lock), sizeof *lock, CALLER);
  int const result = REAL(pthread_spin_destroy)(lock);
  if (result == 0) lane::lock_destroyed(lock);
  return result;
}
INTERPOSE(int, pthread_spin_lock, pthread_spinlock_t* lock) {
  lane::lock_wanted(object(lock), lane::LockMode::kExclusive, CALLER);
  int const result = REAL(pthread_spin_lock)(lock);
  after(lock, result, CALLER);
  return result;
}
INTERPOSE(int, pthread_spin_trylock, pthread_spinlock_t* lock) {
  lane::lock_wanted(object(lock), lane::LockMode::kExclusive, CALLER);
  int const result = REAL(pthread_spin_trylock)(lock);
  after(lock, result, CALLER);
  return result;
}
INTERPOSE(int, pthread_spin_unlock, pthread_spinlock_t* lock) {
  lane::lock_releasing(lock, CALLER);
  return REAL(pthread_spin_unlock)(lock);
}
