// Mutexes of every kind: what counts as taken and given up, and what does not.
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "runtime/interpose/tests/fake_lane.h"

static pthread_mutex_t make(int type, bool robust) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, type);
  if (robust) pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_t m;
  pthread_mutex_init(&m, &a);
  return m;
}

template <class F>
static void in_thread(F f) {
  pthread_t t;
  CHECK(pthread_create(
            &t, nullptr,
            [](void* p) -> void* {
              (*static_cast<F*>(p))();
              return nullptr;
            },
            &f) == 0);
  CHECK(pthread_join(t, nullptr) == 0);
}

static timespec soon(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += 5'000'000;
  if (t.tv_nsec >= 1'000'000'000) t.tv_nsec -= 1'000'000'000, ++t.tv_sec;
  return t;
}

static void normal() {
  pthread_mutex_t m;
  record_name(&m, sizeof m, "m");
  EXPECT(pthread_mutex_init(&m, nullptr), "write m 40");
  EXPECT(CHECK(pthread_mutex_lock(&m) == 0), "read m 1; lock m X");
  EXPECT(CHECK(pthread_mutex_trylock(&m) == EBUSY), "read m 1; used m X");
  in_thread([&] {
    timespec const t = soon(CLOCK_REALTIME);
    timespec const u = soon(CLOCK_MONOTONIC);
    EXPECT(CHECK(pthread_mutex_timedlock(&m, &t) == ETIMEDOUT), "read m 1; used m X");
    EXPECT(CHECK(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &u) == ETIMEDOUT), "read m 1; used m X");
  });
  EXPECT(CHECK(pthread_mutex_unlock(&m) == 0), "unlock m");
  EXPECT(CHECK(pthread_mutex_trylock(&m) == 0), "read m 1; lock m X");
  EXPECT(CHECK(pthread_mutex_destroy(&m) == EBUSY), "write m 40");
  EXPECT(CHECK(pthread_mutex_unlock(&m) == 0), "unlock m");
  timespec const t = soon(CLOCK_REALTIME);
  EXPECT(CHECK(pthread_mutex_timedlock(&m, &t) == 0), "read m 1; lock m X");
  EXPECT(CHECK(pthread_mutex_unlock(&m) == 0), "unlock m");
  EXPECT(CHECK(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &t) == 0), "read m 1; lock m X");
  EXPECT(CHECK(pthread_mutex_unlock(&m) == 0), "unlock m");
  EXPECT(CHECK(pthread_mutex_destroy(&m) == 0), "write m 40; lock_destroyed m");
  record_forget_names();
}

static void recursive_tells_the_outermost_pair_only() {
  pthread_mutex_t m = make(PTHREAD_MUTEX_RECURSIVE, false);
  record_name(&m, sizeof m, "m");
  EXPECT(CHECK(pthread_mutex_unlock(&m) == EPERM), "");
  EXPECT(pthread_mutex_lock(&m), "read m 1; lock m X");
  EXPECT(pthread_mutex_lock(&m), "read m 1; used m X");
  EXPECT(pthread_mutex_trylock(&m), "read m 1; used m X");
  EXPECT(pthread_mutex_unlock(&m), "");
  EXPECT(pthread_mutex_unlock(&m), "");
  in_thread([&] { EXPECT(CHECK(pthread_mutex_unlock(&m) == EPERM), ""); });
  EXPECT(pthread_mutex_unlock(&m), "unlock m");
  record_forget_names();
}

static void errorcheck_refuses_without_a_trace() {
  pthread_mutex_t m = make(PTHREAD_MUTEX_ERRORCHECK, false);
  record_name(&m, sizeof m, "m");
  EXPECT(CHECK(pthread_mutex_unlock(&m) == EPERM), "");
  EXPECT(pthread_mutex_lock(&m), "read m 1; lock m X");
  EXPECT(CHECK(pthread_mutex_lock(&m) == EDEADLK), "read m 1; used m X");
  in_thread([&] { EXPECT(CHECK(pthread_mutex_unlock(&m) == EPERM), ""); });
  EXPECT(pthread_mutex_unlock(&m), "unlock m");
  record_forget_names();
}

static void robust() {
  pthread_mutex_t m = make(PTHREAD_MUTEX_NORMAL, true);
  record_name(&m, sizeof m, "m");
  in_thread([&] {
    EXPECT(pthread_mutex_lock(&m), "read m 1; lock m X");
    record_begin();
  });
  // The thread's end gave it up.
  CHECK(strstr(record_end(), "unlock m; thread_finishing") != nullptr);
  EXPECT(CHECK(pthread_mutex_lock(&m) == EOWNERDEAD), "read m 1; lock m X");
  CHECK(pthread_mutex_consistent(&m) == 0);
  EXPECT(pthread_mutex_unlock(&m), "unlock m");
  in_thread([&] { pthread_mutex_lock(&m); });
  EXPECT(CHECK(pthread_mutex_trylock(&m) == EOWNERDEAD), "read m 1; lock m X");
  EXPECT(pthread_mutex_unlock(&m), "unlock m");  // not made consistent: gone for ever
  EXPECT(CHECK(pthread_mutex_lock(&m) == ENOTRECOVERABLE), "read m 1; used m X");
  record_forget_names();
}

static void errno_is_left_alone() {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  errno = 42;
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
  CHECK(errno == 42);
}

int main() {
  normal();
  recursive_tells_the_outermost_pair_only();
  errorcheck_refuses_without_a_trace();
  robust();
  errno_is_left_alone();
  return 0;
}
