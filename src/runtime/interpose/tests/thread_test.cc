// Threads: who is told what, in which order; and that thread_finishing is the last thing a thread does.
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "runtime/interpose/tests/fake_lane.h"

static const char* last_record() { return record_end(); }

// Everything that happens on a thread after its routine touches `mark`, through a mutex, so that the record
// shows it.
static pthread_mutex_t mark = PTHREAD_MUTEX_INITIALIZER;
static void touch() {
  pthread_mutex_lock(&mark);
  pthread_mutex_unlock(&mark);
}

struct AtThreadEnd {
  ~AtThreadEnd() { touch(); }
  int x = 0;
};
static thread_local AtThreadEnd at_end;

static pthread_key_t keys[8];
static int rounds;
static void again(void*) {
  touch();
  if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) pthread_setspecific(keys[7], keys);
}

static int count(const char* text, const char* part) {
  int n = 0;
  for (const char* at = text; (at = strstr(at, part)) != nullptr; at += strlen(part)) ++n;
  return n;
}

static void finishing_comes_after_all_destructors() {
  for (auto& key : keys) pthread_key_create(&key, again);
  pthread_t t;
  record_begin();
  pthread_create(
      &t, nullptr,
      [](void*) -> void* {
        at_end.x = 1;
        pthread_setspecific(keys[7], keys);
        return nullptr;
      },
      nullptr);
  pthread_join(t, nullptr);
  const char* const text = last_record();
  CHECK(count(text, "lock mark X") == 1 + PTHREAD_DESTRUCTOR_ITERATIONS);
  const char* const finishing = strstr(text, "thread_finishing");
  CHECK(finishing != nullptr && strstr(finishing, "mark") == nullptr);
  CHECK(strstr(finishing, "thread_joined") != nullptr);
  CHECK(strstr(text, "thread_creating; thread_started") == text);
  for (auto& key : keys) pthread_key_delete(key);
}

static void* nothing(void*) { return nullptr; }
static int let_go;
static void* slow(void*) {
  while (__atomic_exchange_n(&let_go, 0, __ATOMIC_ACQ_REL) == 0) usleep(1000);
  return nullptr;
}
static void let_slow_go() { __atomic_store_n(&let_go, 1, __ATOMIC_RELEASE); }

static void joins() {
  pthread_t t;
  timespec now;
  void* value = &now;
  pthread_create(&t, nullptr, slow, nullptr);
  EXPECT(CHECK(pthread_tryjoin_np(t, &value) == EBUSY), "");
  clock_gettime(CLOCK_REALTIME, &now);
  record_begin();
  CHECK(pthread_timedjoin_np(t, &value, &now) == ETIMEDOUT);
  CHECK(strstr(last_record(), "thread_joined") == nullptr);
  now.tv_sec += 30;
  let_slow_go();
  record_name(&value, sizeof value, "value");
  record_begin();
  CHECK(pthread_timedjoin_np(t, &value, &now) == 0);
  CHECK(strstr(last_record(), "thread_joined; write value 8") != nullptr);
  pthread_create(&t, nullptr, nothing, nullptr);
  clock_gettime(CLOCK_MONOTONIC, &now);
  now.tv_sec += 10;
  record_begin();
  CHECK(pthread_clockjoin_np(t, &value, CLOCK_MONOTONIC, &now) == 0);
  CHECK(strstr(last_record(), "thread_joined; write value 8") != nullptr);
  pthread_create(&t, nullptr, nothing, nullptr);
  record_begin();
  while (pthread_tryjoin_np(t, nullptr) != 0) usleep(1000);
  CHECK(strstr(last_record(), "thread_joined") != nullptr);
  CHECK(pthread_join(pthread_self(), nullptr) == EDEADLK);
}

static void wait_for_finished(int count) {
  while (__atomic_load_n(&record_finished_threads, __ATOMIC_ACQUIRE) < count) usleep(1000);
}

static void detaching() {
  pthread_t t;
  int const before = record_finished_threads;
  pthread_create(&t, nullptr, slow, nullptr);
  EXPECT(CHECK(pthread_detach(t) == 0), "thread_detached");
  let_slow_go();
  wait_for_finished(before + 1);
  pthread_attr_t a;
  pthread_attr_init(&a);
  pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
  record_begin();
  CHECK(pthread_create(&t, &a, slow, nullptr) == 0);
  CHECK(strstr(last_record(), "thread_creating; thread_started; thread_detached") == last_record());
  let_slow_go();
  wait_for_finished(before + 2);
}

// The handle is the parent's to write, in no order with the child.
static void handle_is_written() {
  pthread_t t;
  record_name(&t, sizeof t, "t");
  record_begin();
  CHECK(pthread_create(&t, nullptr, nothing, nullptr) == 0);
  pthread_join(t, nullptr);
  CHECK(strstr(last_record(), "thread_creating; write t 8; thread_started") == last_record());
  record_forget_names();
}

static void small_stacks_are_given_more() {
  pthread_attr_t a;
  pthread_attr_init(&a);
  pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN);
  static size_t size;
  pthread_t t;
  auto* const ask = +[](void*) -> void* {
    pthread_attr_t mine;
    void* low = nullptr;
    pthread_getattr_np(pthread_self(), &mine);
    pthread_attr_getstack(&mine, &low, &size);
    pthread_attr_destroy(&mine);
    return nullptr;
  };
  CHECK(pthread_create(&t, &a, ask, nullptr) == 0);
  pthread_join(t, nullptr);
  CHECK(size >= static_cast<size_t>(PTHREAD_STACK_MIN) + (64 << 10));
  size_t wanted = 0;
  pthread_attr_getstacksize(&a, &wanted);
  CHECK(wanted == static_cast<size_t>(PTHREAD_STACK_MIN));
}

static void failing_create() {
  pthread_attr_t a;
  pthread_attr_init(&a);
  pthread_attr_setstacksize(&a, size_t{1} << 46);
  pthread_t t;
  record_begin();
  CHECK(pthread_create(&t, &a, nothing, nullptr) == EAGAIN);
  CHECK(strcmp(last_record(), "thread_creating; thread_create_failed") == 0);
}

static void names() {
  EXPECT(CHECK(pthread_setname_np(pthread_self(), "worker") == 0), "thread_named worker");
}

static void signal_mask_is_inherited() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &set, nullptr);
  auto const check = [](void*) -> void* {
    sigset_t mine;
    pthread_sigmask(SIG_SETMASK, nullptr, &mine);
    CHECK(sigismember(&mine, SIGUSR1) == 1 && sigismember(&mine, SIGUSR2) == 0 &&
          sigismember(&mine, SIGINT) == 0);
    return nullptr;
  };
  pthread_t t;
  pthread_create(&t, nullptr, check, nullptr);
  pthread_join(t, nullptr);
  check(nullptr);  // and the parent's own is back
  pthread_attr_t a;
  pthread_attr_init(&a);
  sigset_t other;
  sigemptyset(&other);
  sigaddset(&other, SIGUSR2);
  pthread_attr_setsigmask_np(&a, &other);
  pthread_create(
      &t, &a,
      [](void*) -> void* {
        sigset_t mine;
        pthread_sigmask(SIG_SETMASK, nullptr, &mine);
        CHECK(sigismember(&mine, SIGUSR2) == 1 && sigismember(&mine, SIGUSR1) == 0);
        return nullptr;
      },
      nullptr);
  pthread_join(t, nullptr);
  sigemptyset(&set);
  pthread_sigmask(SIG_SETMASK, &set, nullptr);
}

static void main_thread_can_end_and_be_joined() {
  static pthread_t const main_thread = pthread_self();
  pthread_t t;
  record_begin();
  pthread_create(
      &t, nullptr,
      [](void*) -> void* {
        CHECK(pthread_join(main_thread, nullptr) == 0);
        CHECK(strstr(last_record(), "thread_finishing") != nullptr);
        _exit(0);
      },
      nullptr);
  pthread_exit(nullptr);
}

int main() {
  record_name(&mark, sizeof mark, "mark");
  finishing_comes_after_all_destructors();
  joins();
  detaching();
  handle_is_written();
  small_stacks_are_given_more();
  failing_create();
  names();
  signal_mask_is_inherited();
  main_thread_can_end_and_be_joined();
}
