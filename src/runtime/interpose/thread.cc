// Threads: creation, all forms of join, detaching, names, and the end.
//
// The end. thread_finishing() must come after everything that the program runs on a thread: the start
// routine, C++ thread_local destructors (glibc runs them next), then destructors of thread-specific data,
// which run in up to PTHREAD_DESTRUCTOR_ITERATIONS rounds, in each round by ascending key. So we own the
// *highest* key there is: our destructor runs last in every round, puts itself back for the next one, and in
// the last round it is the last thing of all.
#include "runtime/interpose/thread.h"

#include <limits.h>
#include <linux/futex.h>
#include <signal.h>

#include "runtime/interpose/mutex.h"
#include "runtime/interpose/start.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/print.h"
#include "runtime/platform/syscalls.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

pthread_key_t finish_key;
bool have_finish_key;

void finish_round(void* round) {
  auto const rounds = reinterpret_cast<uintptr_t>(round);
  if (rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(finish_key, reinterpret_cast<void*>(rounds + 1));
    return;
  }
  release_robust_mutexes();
  thread_state.finish_armed = false;
  lane::thread_finishing();
}

long futex(uint32_t* word, int operation, uint32_t value) {
  return platform::syscall6(SYS_futex, reinterpret_cast<long>(word), operation, value);
}

void* run_pthread(void* argument) {
  auto* const launch = static_cast<Launch*>(argument);
  auto* const routine = launch->routine;
  void* const routine_argument = launch->argument;
  thread_entered(launch);
  return routine(routine_argument);
}

// A stack that is just large enough for the program is too small for the program and the runtime: whoever
// finds a race unwinds and prints on its own thread, which takes some 30 KiB. Such threads get more than they
// ask for, which POSIX allows ("the minimum stack size"). A stack that the program provides is used as it is.
//
// The copy is bit by bit: what it points to stays the original's, and it is never destroyed.
class RoomyAttributes {
 public:
  explicit RoomyAttributes(const pthread_attr_t* wanted) : used_(wanted) {
    size_t size = 0;
    if (wanted == nullptr || pthread_attr_getstacksize(wanted, &size) != 0 || size >= kRoomy) return;
    if (provides_stack(wanted)) {
      if (size < kOwnStack) warn_once(size);
      return;
    }
    copy_ = *wanted;
    if (pthread_attr_setstacksize(&copy_, size + kOwnStack) == 0) used_ = &copy_;
  }
  [[nodiscard]] const pthread_attr_t* used() const { return used_; }

 private:
  static constexpr size_t kOwnStack = size_t{64} << 10;
  static constexpr size_t kRoomy = size_t{256} << 10;

  // glibc keeps the end of the stack, null if there is none, and gives what is `size` below it.
  static bool provides_stack(const pthread_attr_t* attributes) {
    void* low = nullptr;
    size_t size = 0;
    return pthread_attr_getstack(attributes, &low, &size) != 0 ||
           reinterpret_cast<uintptr_t>(low) + size != 0;
  }
  static void warn_once(size_t size) {
    static bool told;
    if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
      platform::warn(
          "the program provides a stack of %lu KiB for a thread: a race that is found there may overflow it "
          "(provide %lu KiB or more, or only say its size: pthread_attr_setstacksize)",
          size >> 10, kOwnStack >> 10);
  }

  const pthread_attr_t* used_;
  pthread_attr_t copy_;
};

}  // namespace

namespace deadheat::interpose {

void start_threads() {
  // Keys are handed out lowest first: take them all, keep the last, give the others back.
  static pthread_key_t keys[PTHREAD_KEYS_MAX];
  unsigned count = 0;
  while (count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[count], finish_round) == 0) ++count;
  if (count == 0) return;
  finish_key = keys[count - 1];
  have_finish_key = true;
  for (unsigned i = 0; i + 1 < count; ++i) pthread_key_delete(keys[i]);
}

void arm_thread_finish() {
  if (thread_state.finish_armed || !have_finish_key) return;
  thread_state.finish_armed = pthread_setspecific(finish_key, reinterpret_cast<void*>(1)) == 0;
}

void wait_until_introduced(Launch& launch) {
  while (__atomic_load_n(&launch.introduced, __ATOMIC_ACQUIRE) == 0) {
    futex(&launch.introduced, FUTEX_WAIT_PRIVATE, 0);
  }
}

void thread_entered(Launch* launch) {
  bool const restore = launch->restore_mask;
  uint64_t const mask = launch->signal_mask;
  lane::thread_started(launch->start);
  if (launch->detached) {
    if (auto* const self = lane::thread_find(pthread_self())) lane::thread_detached(self);
  }
  arm_thread_finish();
  __atomic_store_n(&launch->introduced, 1u, __ATOMIC_RELEASE);
  // The parent may have returned already. The kernel is given an address, nothing is read from it: at worst
  // somebody whose futex is there now wakes up once too often, which every futex's user must expect.
  futex(&launch->introduced, FUTEX_WAKE_PRIVATE, 1);
  if (restore) set_signal_mask(mask);
}

}  // namespace deadheat::interpose

INTERPOSE(int, pthread_create, pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
          void* argument) {
  Launch launch = {};
  launch.routine = routine;
  launch.argument = argument;
  launch.handle = thread;
  launch.handle_ordered = starts_cxx_thread(thread, CALLER);
  launch.restore_mask = true;
  if (attributes != nullptr) {
    lane::read(attributes, sizeof *attributes, CALLER);
    int state = PTHREAD_CREATE_JOINABLE;
    launch.detached =
        pthread_attr_getdetachstate(attributes, &state) == 0 && state == PTHREAD_CREATE_DETACHED;
    // A mask in the attributes is set by glibc itself before the routine runs.
    sigset_t own;
    launch.restore_mask = pthread_attr_getsigmask_np(attributes, &own) == PTHREAD_ATTR_NO_SIGMASK_NP;
  }
  RoomyAttributes const roomy(attributes);
  int const result = interpose::launch(
      launch, CALLER, 0, [&] { return REAL(pthread_create)(thread, roomy.used(), run_pthread, &launch); });
  // Perhaps only because of us: the shadow takes a part of what the program may have.
  static bool told;
  if (result == EAGAIN && !__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
    platform::warn(
        "pthread_create failed: no memory or no more threads (ulimit -v, ulimit -u; Deadheat has mapped %lu "
        "MiB itself)",
        platform::mapped_bytes() >> 20);
  return result;
}

INTERPOSE(int, pthread_join, pthread_t thread, void** value) {
  auto* const known = lane::thread_find(thread);
  if (known != nullptr) lane::thread_joining(known);
  int const result = REAL(pthread_join)(thread, value);
  if (result == 0) {
    if (known != nullptr) lane::thread_joined(known);
    if (value != nullptr) lane::write(value, sizeof *value, CALLER);
  } else if (known != nullptr) {
    lane::thread_not_joined();
  }
  return result;
}

INTERPOSE(int, pthread_tryjoin_np, pthread_t thread, void** value) {
  auto* const known = lane::thread_find(thread);
  int const result = REAL(pthread_tryjoin_np)(thread, value);
  if (result == 0) {
    if (known != nullptr) lane::thread_joined(known);
    if (value != nullptr) lane::write(value, sizeof *value, CALLER);
  }
  return result;
}

INTERPOSE(int, pthread_timedjoin_np, pthread_t thread, void** value, const struct timespec* until) {
  auto* const known = lane::thread_find(thread);
  int const result = REAL(pthread_timedjoin_np)(thread, value, until);
  if (result == 0) {
    if (known != nullptr) lane::thread_joined(known);
    if (value != nullptr) lane::write(value, sizeof *value, CALLER);
  }
  return result;
}

INTERPOSE(int, pthread_clockjoin_np, pthread_t thread, void** value, clockid_t clock,
          const struct timespec* until) {
  auto* const known = lane::thread_find(thread);
  int const result = REAL(pthread_clockjoin_np)(thread, value, clock, until);
  if (result == 0) {
    if (known != nullptr) lane::thread_joined(known);
    if (value != nullptr) lane::write(value, sizeof *value, CALLER);
  }
  return result;
}

INTERPOSE(int, pthread_detach, pthread_t thread) {
  auto* const known = lane::thread_find(thread);
  int const result = REAL(pthread_detach)(thread);
  if (result == 0 && known != nullptr) lane::thread_detached(known);
  return result;
}

// The main thread may end like any other, and be joined.
INTERPOSE(void, pthread_exit, void* value) {
  arm_thread_finish();
  REAL(pthread_exit)(value);
  __builtin_unreachable();
}

INTERPOSE(int, pthread_setname_np, pthread_t thread, const char* name) {
  int const result = REAL(pthread_setname_np)(thread, name);
  if (result == 0) lane::thread_named(thread, name);
  return result;
}

// What the cancelled thread does last is ordered by its join, as always; that the request itself comes before
// the clean-up handlers is not modelled (docs/interposition.md).
INTERPOSE(int, pthread_cancel, pthread_t thread) {
  lane::waits_may_be_cut_short();
  return REAL(pthread_cancel)(thread);
}
