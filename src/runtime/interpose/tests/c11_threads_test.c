/* C11 threads, in C: a program without any C++ library. */
#include <errno.h>
#include <threads.h>
#include <time.h>

#include "runtime/interpose/tests/fake_lane.h"

static int forty_two(void* argument) {
  (void)argument;
  return 42;
}
static int exits(void* argument) {
  (void)argument;
  thrd_exit(43);
}
static int runs;
static void run(void) { ++runs; }

int main(void) {
  thrd_t t;
  int value = 0;
  record_name(&value, sizeof value, "value");
  record_name(&t, sizeof t, "t");
  record_begin();
  CHECK(thrd_create(&t, forty_two, NULL) == thrd_success);
  CHECK(thrd_join(t, &value) == thrd_success && value == 42);
  CHECK_RECORD("write t 8; thread_creating; thread_started; thread_finishing; thread_joined; write value 4");
  record_begin();
  CHECK(thrd_create(&t, exits, NULL) == thrd_success);
  CHECK(thrd_join(t, NULL) == thrd_success);
  CHECK_RECORD("write t 8; thread_creating; thread_started; thread_finishing; thread_joined");
  int const before = record_finished_threads;
  thrd_create(&t, forty_two, NULL);
  record_begin();
  CHECK(thrd_detach(t) == thrd_success);
  CHECK(strstr(record_end(), "thread_detached") != NULL);
  while (__atomic_load_n(&record_finished_threads, __ATOMIC_ACQUIRE) == before) thrd_yield();

  mtx_t m;
  record_name(&m, sizeof m, "m");
  EXPECT(mtx_init(&m, mtx_plain | mtx_timed), "write m 40");
  EXPECT(CHECK(mtx_lock(&m) == thrd_success), "read m 1; lock m X");
  EXPECT(CHECK(mtx_trylock(&m) == thrd_busy), "read m 1; used m X");
  struct timespec past = {1, 0};
  EXPECT(CHECK(mtx_timedlock(&m, &past) == thrd_timedout), "read m 1; used m X");
  cnd_t c;
  record_name(&c, sizeof c, "c");
  EXPECT(cnd_init(&c), "write c 48");
  EXPECT(CHECK(cnd_timedwait(&c, &m, &past) == thrd_timedout), "read c 1; unlock m; lock m X");
  EXPECT(cnd_signal(&c), "read c 1");
  EXPECT(cnd_broadcast(&c), "read c 1");
  EXPECT(cnd_destroy(&c), "write c 48");
  EXPECT(mtx_unlock(&m), "unlock m");
  EXPECT(CHECK(mtx_trylock(&m) == thrd_success), "read m 1; lock m X");
  EXPECT(mtx_unlock(&m), "unlock m");
  EXPECT(mtx_destroy(&m), "write m 40; lock_destroyed m");
  EXPECT(mtx_init(&m, mtx_recursive), "write m 40");
  EXPECT(mtx_lock(&m), "read m 1; lock m X");
  EXPECT(mtx_lock(&m), "read m 1; used m X");
  EXPECT(mtx_unlock(&m), "");
  EXPECT(mtx_unlock(&m), "unlock m");

  static once_flag flag = ONCE_FLAG_INIT;
  record_name(&flag, sizeof flag, "flag");
  EXPECT(call_once(&flag, run), "acquire flag; release flag; acquire flag");
  EXPECT(call_once(&flag, run), "acquire flag");
  CHECK(runs == 1);
  return 0;
}
