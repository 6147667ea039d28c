// Waiting gives the mutex up and takes it again: when signalled, timed out and cancelled.
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "runtime/interpose/tests/fake_lane.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static bool ready;

static timespec soon(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += 5'000'000;
  if (t.tv_nsec >= 1'000'000'000) t.tv_nsec -= 1'000'000'000, ++t.tv_sec;
  return t;
}

static void* cleaned_up(void*) {
  pthread_mutex_lock(&m);
  ready = true;
  pthread_cleanup_push([](void* mutex) { pthread_mutex_unlock(static_cast<pthread_mutex_t*>(mutex)); }, &m);
  while (true) pthread_cond_wait(&c, &m);
  pthread_cleanup_pop(0);
  return nullptr;
}

static void wait_for_ready() {
  for (;;) {
    pthread_mutex_lock(&m);
    bool const now = ready;
    pthread_mutex_unlock(&m);
    if (now) return;
    usleep(1000);
  }
}

int main() {
  record_name(&m, sizeof m, "m");
  record_name(&c, sizeof c, "c");

  // Timeouts give the mutex back as well.
  pthread_mutex_lock(&m);
  timespec t = soon(CLOCK_REALTIME);
  EXPECT(CHECK(pthread_cond_timedwait(&c, &m, &t) == ETIMEDOUT), "read c 1; unlock m; lock m X");
  t = soon(CLOCK_MONOTONIC);
  EXPECT(CHECK(pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &t) == ETIMEDOUT),
         "read c 1; unlock m; lock m X");
  pthread_mutex_unlock(&m);
  EXPECT(pthread_cond_signal(&c), "read c 1");
  EXPECT(pthread_cond_broadcast(&c), "read c 1");

  // A signalled wait.
  static bool go;
  pthread_t thread;
  auto const body = [](void*) -> void* {
    pthread_mutex_lock(&m);
    ready = true;
    while (!go) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return nullptr;
  };
  pthread_create(&thread, nullptr, body, nullptr);
  wait_for_ready();
  record_begin();
  pthread_mutex_lock(&m);
  go = true;
  pthread_mutex_unlock(&m);
  pthread_cond_signal(&c);
  pthread_join(thread, nullptr);
  CHECK(strstr(record_end(), "read m 1; lock m X; unlock m; read c 1; lock m X; unlock m; ") == record_end());

  // Cancelled: the handlers run with the mutex held, and the lane knows.
  ready = false;
  pthread_create(&thread, nullptr, cleaned_up, nullptr);
  wait_for_ready();
  record_begin();
  pthread_cancel(thread);
  void* value = nullptr;
  pthread_join(thread, &value);
  CHECK(value == PTHREAD_CANCELED);
  CHECK(strstr(record_end(), "lock m X; unlock m; ") == record_end());
  CHECK(pthread_mutex_trylock(&m) == 0);
  pthread_mutex_unlock(&m);

  // Not the owner: nothing is given up.
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t checked;
  pthread_mutex_init(&checked, &a);
  record_name(&checked, sizeof checked, "checked");
  EXPECT(CHECK(pthread_cond_wait(&c, &checked) == EPERM), "read c 1");

  EXPECT(pthread_cond_destroy(&c), "write c 48");
  EXPECT(pthread_cond_init(&c, nullptr), "write c 48");
  return 0;
}
