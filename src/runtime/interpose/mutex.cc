// pthread mutexes of all kinds: normal, recursive, error-checking, adaptive, robust, priority-inheriting,
// shared between processes. An object's first byte is read by each use and the whole object written by init
// and destroy, so that using a mutex that is not yet, or no longer, one is the race it is.
#include "runtime/interpose/mutex.h"

#include <linux/futex.h>

#include "runtime/platform/syscalls.h"

#ifndef DEADHEAT_LANE_MONITOR
__attribute__((weak)) bool deadheat::lane::hears_acquired_locks = true;
#endif

using namespace deadheat;
using namespace deadheat::interpose;

namespace {
bool has_lock(int result) { return __builtin_expect(result == 0, 1) || result == EOWNERDEAD; }
}  // namespace

INTERPOSE(int, pthread_mutex_init, pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
  lane::write(mutex, sizeof *mutex, CALLER);
  return REAL(pthread_mutex_init)(mutex, attributes);
}

INTERPOSE(int, pthread_mutex_destroy, pthread_mutex_t* mutex) {
  lane::write(mutex, sizeof *mutex, CALLER);
  int const result = REAL(pthread_mutex_destroy)(mutex);
  if (result == 0) lane::lock_destroyed(mutex);
  return result;
}

// A lane that has no use for acquired locks leaves the common ways of acquiring one to the library.
#ifndef DEADHEAT_LANE_MONITOR
INTERPOSE(int, pthread_mutex_lock, pthread_mutex_t* mutex) {
  mutex_wanted(mutex, CALLER);
  int const result = REAL(pthread_mutex_lock)(mutex);
  mutex_after(mutex, has_lock(result), CALLER);
  return result;
}

INTERPOSE(int, pthread_mutex_trylock, pthread_mutex_t* mutex) {
  mutex_wanted(mutex, CALLER);
  int const result = REAL(pthread_mutex_trylock)(mutex);
  mutex_after(mutex, has_lock(result), CALLER);
  return result;
}
#endif

INTERPOSE(int, pthread_mutex_timedlock, pthread_mutex_t* mutex, const struct timespec* until) {
  mutex_wanted(mutex, CALLER);
  int const result = REAL(pthread_mutex_timedlock)(mutex, until);
  mutex_after(mutex, has_lock(result), CALLER);
  return result;
}

INTERPOSE(int, pthread_mutex_clocklock, pthread_mutex_t* mutex, clockid_t clock,
          const struct timespec* until) {
  mutex_wanted(mutex, CALLER);
  int const result = REAL(pthread_mutex_clocklock)(mutex, clock, until);
  mutex_after(mutex, has_lock(result), CALLER);
  return result;
}

INTERPOSE_RELEASES(int, pthread_mutex_unlock, pthread_mutex_t* mutex) {
  mutex_unlocking(mutex, CALLER);
  return REAL(pthread_mutex_unlock)(mutex);
}

// pthread_mutex_consistent changes nothing about who holds what: nothing to interpose.

namespace deadheat::interpose {

void release_robust_mutexes() {
  if (!thread_state.robust) return;
  robust_list_head* head = nullptr;
  size_t size = 0;
  if (platform::failed(platform::syscall6(SYS_get_robust_list, 0, reinterpret_cast<long>(&head),
                                          reinterpret_cast<long>(&size))) ||
      head == nullptr) {
    return;
  }
  // The list runs through the mutexes' __list.__next; bit 0 of a link marks priority inheritance.
  auto const end = reinterpret_cast<uintptr_t>(&head->list);
  uintptr_t link = reinterpret_cast<uintptr_t>(head->list.next) & ~uintptr_t{1};
  for (unsigned limit = 0; link != end && link != 0 && limit < 4096; ++limit) {
    auto* const mutex =
        reinterpret_cast<pthread_mutex_t*>(link - offsetof(pthread_mutex_t, __data.__list.__next));
    lane::lock_releasing(mutex, lane::Pc{0});
    link = *reinterpret_cast<uintptr_t*>(link) & ~uintptr_t{1};
  }
}

}  // namespace deadheat::interpose
