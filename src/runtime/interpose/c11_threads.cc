// C11 threads. glibc builds them on its own inner pthread functions, which cannot be interposed: so these
// are, themselves. mtx_t, cnd_t and once_flag are the pthread types under another name.
#include <threads.h>

#include "runtime/interpose/condition.h"
#include "runtime/interpose/once.h"
#include "runtime/interpose/thread.h"

using namespace deadheat;
using namespace deadheat::interpose;

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t));
static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t));
static_assert(__is_same(thrd_t, pthread_t));

namespace {

pthread_mutex_t* as_mutex(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* as_condition(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

int run_c11(void* argument) {
  auto* const launch = static_cast<Launch*>(argument);
  auto* const routine = launch->c11_routine;
  void* const routine_argument = launch->argument;
  thread_entered(launch);
  return routine(routine_argument);
}

}  // namespace

INTERPOSE(int, thrd_create, thrd_t* thread, thrd_start_t routine, void* argument) {
  Launch launch = {};
  launch.c11_routine = routine;
  launch.argument = argument;
  launch.handle = thread;
  launch.handle_ordered = true;
  launch.restore_mask = true;
  return interpose::launch(launch, CALLER, thrd_success,
                           [&] { return REAL(thrd_create)(thread, run_c11, &launch); });
}
INTERPOSE(int, thrd_join, thrd_t thread, int* value) {
  auto* const known = lane::thread_find(thread);
  if (known != nullptr) lane::thread_joining(known);
  int const result = REAL(thrd_join)(thread, value);
  if (result == thrd_success) {
    if (known != nullptr) lane::thread_joined(known);
    if (value != nullptr) lane::write(value, sizeof *value, CALLER);
  } else if (known != nullptr) {
    lane::thread_not_joined();
  }
  return result;
}
INTERPOSE(int, thrd_detach, thrd_t thread) {
  auto* const known = lane::thread_find(thread);
  int const result = REAL(thrd_detach)(thread);
  if (result == thrd_success && known != nullptr) lane::thread_detached(known);
  return result;
}
INTERPOSE(void, thrd_exit, int value) {
  arm_thread_finish();
  REAL(thrd_exit)(value);
  __builtin_unreachable();
}

INTERPOSE(int, mtx_init, mtx_t* mutex, int type) {
  lane::write(mutex, sizeof *mutex, CALLER);
  return REAL(mtx_init)(mutex, type);
}
INTERPOSE(void, mtx_destroy, mtx_t* mutex) {
  lane::write(mutex, sizeof *mutex, CALLER);
  REAL(mtx_destroy)(mutex);
  lane::lock_destroyed(mutex);
}
INTERPOSE(int, mtx_lock, mtx_t* mutex) {
  mutex_wanted(as_mutex(mutex), CALLER);
  int const result = REAL(mtx_lock)(mutex);
  mutex_after(as_mutex(mutex), result == thrd_success, CALLER);
  return result;
}
INTERPOSE(int, mtx_trylock, mtx_t* mutex) {
  mutex_wanted(as_mutex(mutex), CALLER);
  int const result = REAL(mtx_trylock)(mutex);
  mutex_after(as_mutex(mutex), result == thrd_success, CALLER);
  return result;
}
INTERPOSE(int, mtx_timedlock, mtx_t* mutex, const struct timespec* until) {
  mutex_wanted(as_mutex(mutex), CALLER);
  int const result = REAL(mtx_timedlock)(mutex, until);
  mutex_after(as_mutex(mutex), result == thrd_success, CALLER);
  return result;
}
INTERPOSE(int, mtx_unlock, mtx_t* mutex) {
  mutex_unlocking(as_mutex(mutex), CALLER);
  return REAL(mtx_unlock)(mutex);
}

INTERPOSE(int, cnd_init, cnd_t* condition) {
  lane::write(condition, sizeof *condition, CALLER);
  return REAL(cnd_init)(condition);
}
INTERPOSE(void, cnd_destroy, cnd_t* condition) {
  lane::write(condition, sizeof *condition, CALLER);
  REAL(cnd_destroy)(condition);
}
INTERPOSE(int, cnd_signal, cnd_t* condition) {
  lane::read(condition, 1, CALLER);
  return REAL(cnd_signal)(condition);
}
INTERPOSE(int, cnd_broadcast, cnd_t* condition) {
  lane::read(condition, 1, CALLER);
  return REAL(cnd_broadcast)(condition);
}
INTERPOSE(int, cnd_wait, cnd_t* condition, mtx_t* mutex) {
  return wait_on_condition(as_condition(condition), as_mutex(mutex), CALLER,
                           [=] { return REAL(cnd_wait)(condition, mutex); });
}
INTERPOSE(int, cnd_timedwait, cnd_t* condition, mtx_t* mutex, const struct timespec* until) {
  return wait_on_condition(as_condition(condition), as_mutex(mutex), CALLER,
                           [=] { return REAL(cnd_timedwait)(condition, mutex, until); });
}

INTERPOSE(void, call_once, once_flag* flag, void (*routine)()) {
  pending_once = PendingOnce{flag, routine};
  REAL(call_once)(flag, run_once_routine);
  lane::acquire(flag);
}

// tss_create and its kin: destructors run with those of pthread keys, before thread_finishing (thread.cc).
