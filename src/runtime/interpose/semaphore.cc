// POSIX semaphores: a wait that returns is ordered after the posts so far. sem_getvalue orders nothing.
#include <fcntl.h>
#include <semaphore.h>
#include <stdarg.h>

#include "runtime/interpose/interpose.h"

using namespace deadheat;
using namespace deadheat::interpose;

INTERPOSE(int, sem_init, sem_t* semaphore, int shared, unsigned value) {
  lane::write(semaphore, sizeof *semaphore, CALLER);
  int const result = REAL(sem_init)(semaphore, shared, value);
  if (result == 0) lane::forget(semaphore);
  return result;
}
INTERPOSE(int, sem_destroy, sem_t* semaphore) {
  lane::write(semaphore, sizeof *semaphore, CALLER);
  int const result = REAL(sem_destroy)(semaphore);
  if (result == 0) lane::forget(semaphore);
  return result;
}
INTERPOSE(int, sem_post, sem_t* semaphore) {
  lane::read(semaphore, 1, CALLER);
  lane::release(semaphore);
  return REAL(sem_post)(semaphore);
}
INTERPOSE(int, sem_wait, sem_t* semaphore) {
  lane::read(semaphore, 1, CALLER);
  int const result = REAL(sem_wait)(semaphore);
  if (result == 0) lane::acquire(semaphore);
  return result;
}
INTERPOSE(int, sem_trywait, sem_t* semaphore) {
  lane::read(semaphore, 1, CALLER);
  int const result = REAL(sem_trywait)(semaphore);
  if (result == 0) lane::acquire(semaphore);
  return result;
}
INTERPOSE(int, sem_timedwait, sem_t* semaphore, const struct timespec* until) {
  lane::read(semaphore, 1, CALLER);
  int const result = REAL(sem_timedwait)(semaphore, until);
  if (result == 0) lane::acquire(semaphore);
  return result;
}
INTERPOSE(int, sem_clockwait, sem_t* semaphore, clockid_t clock, const struct timespec* until) {
  lane::read(semaphore, 1, CALLER);
  int const result = REAL(sem_clockwait)(semaphore, clock, until);
  if (result == 0) lane::acquire(semaphore);
  return result;
}
INTERPOSE(int, sem_getvalue, sem_t* semaphore, int* value) {
  int const result = REAL(sem_getvalue)(semaphore, value);
  if (result == 0) lane::write(value, sizeof *value, CALLER);
  return result;
}
// Named semaphores are one object per name in a process, however often opened: sem_open, sem_close and
// sem_unlink need nothing. An address that comes again after the last sem_close may at worst carry an old
// order along.
