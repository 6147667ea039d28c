// Read-write locks, spinlocks, barriers, once, semaphores.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "runtime/interpose/tests/fake_lane.h"

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
static timespec in_a_while(clockid_t clock, long milliseconds) {
  timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += milliseconds * 1'000'000;
  while (t.tv_nsec >= 1'000'000'000) t.tv_nsec -= 1'000'000'000, ++t.tv_sec;
  return t;
}

static void read_write_locks() {
  pthread_rwlock_t l;
  record_name(&l, sizeof l, "l");
  EXPECT(pthread_rwlock_init(&l, nullptr), "write l 56");
  EXPECT(CHECK(pthread_rwlock_rdlock(&l) == 0), "read l 1; lock l S");
  EXPECT(CHECK(pthread_rwlock_rdlock(&l) == 0), "read l 1; used l S");  // held already
  EXPECT(CHECK(pthread_rwlock_tryrdlock(&l) == 0), "read l 1; used l S");
  EXPECT(CHECK(pthread_rwlock_trywrlock(&l) == EBUSY), "read l 1; used l X");
  in_thread([&] {
    timespec const t = in_a_while(CLOCK_REALTIME, 5);
    timespec const u = in_a_while(CLOCK_MONOTONIC, 5);
    EXPECT(CHECK(pthread_rwlock_timedwrlock(&l, &t) == ETIMEDOUT), "read l 1; used l X");
    EXPECT(CHECK(pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &u) == ETIMEDOUT), "read l 1; used l X");
    EXPECT(CHECK(pthread_rwlock_rdlock(&l) == 0), "read l 1; lock l S");  // another thread, another count
    EXPECT(CHECK(pthread_rwlock_unlock(&l) == 0), "unlock l");
  });
  EXPECT(pthread_rwlock_unlock(&l), "");
  EXPECT(pthread_rwlock_unlock(&l), "");
  EXPECT(pthread_rwlock_unlock(&l), "unlock l");
  EXPECT(CHECK(pthread_rwlock_wrlock(&l) == 0), "read l 1; lock l X");
  EXPECT(CHECK(pthread_rwlock_wrlock(&l) == EDEADLK), "read l 1; used l X");
  in_thread([&] {
    timespec const t = in_a_while(CLOCK_REALTIME, 5);
    EXPECT(CHECK(pthread_rwlock_timedrdlock(&l, &t) == ETIMEDOUT), "read l 1; used l S");
    EXPECT(CHECK(pthread_rwlock_clockrdlock(&l, CLOCK_REALTIME, &t) == ETIMEDOUT), "read l 1; used l S");
    EXPECT(CHECK(pthread_rwlock_tryrdlock(&l) == EBUSY), "read l 1; used l S");
  });
  EXPECT(pthread_rwlock_unlock(&l), "unlock l");
  timespec const t = in_a_while(CLOCK_REALTIME, 1000);
  EXPECT(CHECK(pthread_rwlock_timedrdlock(&l, &t) == 0), "read l 1; lock l S");
  EXPECT(pthread_rwlock_unlock(&l), "unlock l");
  EXPECT(CHECK(pthread_rwlock_timedwrlock(&l, &t) == 0), "read l 1; lock l X");
  EXPECT(pthread_rwlock_unlock(&l), "unlock l");
  EXPECT(CHECK(pthread_rwlock_trywrlock(&l) == 0), "read l 1; lock l X");
  EXPECT(pthread_rwlock_unlock(&l), "unlock l");
  EXPECT(pthread_rwlock_destroy(&l), "write l 56; lock_destroyed l");
  record_forget_names();
}

static void spinlocks() {
  pthread_spinlock_t s;
  record_name(&s, sizeof s, "s");
  EXPECT(pthread_spin_init(&s, 0), "write s 4");
  EXPECT(pthread_spin_lock(&s), "read s 1; lock s X");
  EXPECT(CHECK(pthread_spin_trylock(&s) == EBUSY), "read s 1; used s X");
  EXPECT(pthread_spin_unlock(&s), "unlock s");
  EXPECT(CHECK(pthread_spin_trylock(&s) == 0), "read s 1; lock s X");
  EXPECT(pthread_spin_unlock(&s), "unlock s");
  EXPECT(pthread_spin_destroy(&s), "write s 4; lock_destroyed s");
  record_forget_names();
}

static void barriers() {
  pthread_barrier_t b;
  record_name(&b, sizeof b, "b");
  EXPECT(CHECK(pthread_barrier_init(&b, nullptr, 0) == EINVAL), "write b 32");
  EXPECT(pthread_barrier_init(&b, nullptr, 1), "write b 32; barrier_initialised b 1");
  EXPECT(CHECK(pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD), "read b 1; arrive b; leave b 7");
  EXPECT(pthread_barrier_destroy(&b), "write b 32; barrier_destroyed b");
  record_forget_names();
}

static int runs;
static pthread_once_t outer = PTHREAD_ONCE_INIT;
static pthread_once_t inner = PTHREAD_ONCE_INIT;
static void once() {
  record_name(&outer, sizeof outer, "outer");
  record_name(&inner, sizeof inner, "inner");
  // The release stands at the end of the routine, nested ones included.
  EXPECT(pthread_once(&outer, [] { pthread_once(&inner, [] { ++runs; }); }),
         "acquire outer; acquire inner; release inner; acquire inner; release outer; acquire outer");
  EXPECT(pthread_once(&outer, [] { ++runs; }), "acquire outer");
  CHECK(runs == 1);
  // A routine that throws is ordered before the one that runs next.
  static pthread_once_t again = PTHREAD_ONCE_INIT;
  record_name(&again, sizeof again, "again");
  record_begin();
  try {
    pthread_once(&again, [] { throw 1; });
    CHECK(false);
  } catch (int) {
  }
  CHECK_RECORD("acquire again; release again");
  EXPECT(pthread_once(&again, [] {}), "acquire again; release again; acquire again");
  record_forget_names();
}

static void semaphores() {
  sem_t s;
  record_name(&s, sizeof s, "s");
  EXPECT(sem_init(&s, 0, 0), "write s 32; forget s");
  EXPECT(CHECK(sem_trywait(&s) == -1 && errno == EAGAIN), "read s 1");
  timespec t = in_a_while(CLOCK_REALTIME, 5);
  EXPECT(CHECK(sem_timedwait(&s, &t) == -1 && errno == ETIMEDOUT), "read s 1");
  t = in_a_while(CLOCK_MONOTONIC, 5);
  EXPECT(CHECK(sem_clockwait(&s, CLOCK_MONOTONIC, &t) == -1 && errno == ETIMEDOUT), "read s 1");
  EXPECT(sem_post(&s), "read s 1; release s");
  int value = 0;
  record_name(&value, sizeof value, "value");
  EXPECT(CHECK(sem_getvalue(&s, &value) == 0 && value == 1), "write value 4");
  EXPECT(CHECK(sem_wait(&s) == 0), "read s 1; acquire s");
  sem_post(&s);
  EXPECT(CHECK(sem_trywait(&s) == 0), "read s 1; acquire s");
  sem_post(&s);
  t = in_a_while(CLOCK_REALTIME, 1000);
  EXPECT(CHECK(sem_timedwait(&s, &t) == 0), "read s 1; acquire s");
  sem_post(&s);
  EXPECT(CHECK(sem_clockwait(&s, CLOCK_REALTIME, &t) == 0), "read s 1; acquire s");
  EXPECT(sem_destroy(&s), "write s 32; forget s");
  record_forget_names();
}

int main() {
  read_write_locks();
  spinlocks();
  barriers();
  once();
  semaphores();
  return 0;
}
