// deadheat/annotate.h, the calls of <sanitizer/tsan_interface.h>, and the older Annotate* family: what a
// program says about itself. Called by these names in dynamic and static programs alike.
//
// Custom locks told the ThreadSanitizer way: between pre_lock and post_lock, and between pre_unlock and
// post_unlock, the lock's own code runs: neither its accesses nor its order are looked at.
#include "runtime/interpose/ignored.h"
#include "runtime/interpose/recursion.h"

using namespace deadheat;
using namespace deadheat::interpose;

#define ANNOTATION(result, name, ...)   \
  DH_EXPORTED result name(__VA_ARGS__); \
  result name(__VA_ARGS__)

namespace {

__thread RecursionTable<16> held_locks __attribute__((tls_model("initial-exec")));

void lock_acquired(const volatile void* lock, bool shared, lane::Pc pc, uint32_t times = 1) {
  if (held_locks.enter(lock, times)) {
    lane::lock_acquired(lock, shared ? lane::LockMode::kShared : lane::LockMode::kExclusive,
                        lane::LockIs::kName, pc);
  }
}
// Returns how many holds were given up.
uint32_t lock_releasing(const volatile void* lock, bool all, lane::Pc pc) {
  uint32_t held = 1;
  if (held_locks.leave(lock, all, &held)) lane::lock_releasing(lock, pc);
  return held;
}

void library_code_begins() {
  begin_ignoring(true, true);
  begin_ignoring_sync();
}
void library_code_ends() {
  end_ignoring_sync();
  end_ignoring(true, true);
}

}  // namespace

// --- deadheat/annotate.h

ANNOTATION(void, __deadheat_happens_before, const volatile void* object) { lane::release(object); }
ANNOTATION(void, __deadheat_happens_after, const volatile void* object) { lane::acquire(object); }
ANNOTATION(void, __deadheat_lock_created, const volatile void*) {}
ANNOTATION(void, __deadheat_lock_destroyed, const volatile void* lock) { lane::lock_destroyed(lock); }
ANNOTATION(void, __deadheat_lock_acquired, const volatile void* lock, int shared) {
  lock_acquired(lock, shared != 0, CALLER);
}
ANNOTATION(void, __deadheat_lock_releasing, const volatile void* lock, int) {
  lock_releasing(lock, false, CALLER);
}
ANNOTATION(void, __deadheat_benign_race, const volatile void* address, size_t size, const char* why) {
  lane::benign_race(address, size, why, CALLER);
}
ANNOTATION(void, __deadheat_ignore_begin, int reads, int writes) { begin_ignoring(reads != 0, writes != 0); }
ANNOTATION(void, __deadheat_ignore_end, int reads, int writes) { end_ignoring(reads != 0, writes != 0); }
// For detectors of high-level races; no lane that runs in the process has one yet.
ANNOTATION(void, __deadheat_correlated, unsigned, const volatile void* const*, const size_t*) {}
ANNOTATION(void, __deadheat_thread_name, const char* name) { lane::thread_named(pthread_self(), name); }

// --- <sanitizer/tsan_interface.h>

namespace tsan {
constexpr unsigned kReadLock = 1 << 3;
constexpr unsigned kTryLockFailed = 1 << 5;
constexpr unsigned kRecursiveLock = 1 << 6;
constexpr unsigned kRecursiveUnlock = 1 << 7;
}  // namespace tsan

ANNOTATION(void, __tsan_acquire, void* object) { lane::acquire(object); }
ANNOTATION(void, __tsan_release, void* object) { lane::release(object); }

ANNOTATION(void, __tsan_mutex_create, void*, unsigned) {}
ANNOTATION(void, __tsan_mutex_destroy, void* lock, unsigned) { lane::lock_destroyed(lock); }
ANNOTATION(void, __tsan_mutex_pre_lock, void*, unsigned) { library_code_begins(); }
ANNOTATION(void, __tsan_mutex_post_lock, void* lock, unsigned flags, int recursion) {
  library_code_ends();
  if ((flags & tsan::kTryLockFailed) != 0) return;
  bool const again = (flags & tsan::kRecursiveLock) != 0 && recursion > 0;
  lock_acquired(lock, (flags & tsan::kReadLock) != 0, CALLER, again ? static_cast<uint32_t>(recursion) : 1);
}
ANNOTATION(int, __tsan_mutex_pre_unlock, void* lock, unsigned flags) {
  uint32_t const held = lock_releasing(lock, (flags & tsan::kRecursiveUnlock) != 0, CALLER);
  library_code_begins();
  return (flags & tsan::kRecursiveUnlock) != 0 ? static_cast<int>(held) : 0;
}
ANNOTATION(void, __tsan_mutex_post_unlock, void*, unsigned) { library_code_ends(); }
ANNOTATION(void, __tsan_mutex_pre_signal, void*, unsigned) { library_code_begins(); }
ANNOTATION(void, __tsan_mutex_post_signal, void*, unsigned) { library_code_ends(); }
// Inside the lock's code, back to the program's for a while.
ANNOTATION(void, __tsan_mutex_pre_divert, void*, unsigned) { library_code_ends(); }
ANNOTATION(void, __tsan_mutex_post_divert, void*, unsigned) { library_code_begins(); }
ANNOTATION(void, __tsan_check_no_mutexes_held, void) {}

// A library's object, accessed as a whole: one byte of it stands for all.
ANNOTATION(void*, __tsan_external_register_tag, const char* type) { return const_cast<char*>(type); }
ANNOTATION(void, __tsan_external_register_header, void*, const char*) {}
ANNOTATION(void, __tsan_external_assign_tag, void*, void*) {}
ANNOTATION(void, __tsan_external_read, void* object, void* caller, void*) {
  lane::read(object, 1, lane::Pc{reinterpret_cast<uintptr_t>(caller)});
}
ANNOTATION(void, __tsan_external_write, void* object, void* caller, void*) {
  lane::write(object, 1, lane::Pc{reinterpret_cast<uintptr_t>(caller)});
}

namespace tsan {
constexpr unsigned kSwitchWithoutOrder = 1 << 0;
}  // namespace tsan

ANNOTATION(void*, __tsan_get_current_fiber, void) { return lane::fiber_current(); }
ANNOTATION(void*, __tsan_create_fiber, unsigned) { return lane::fiber_created(CALLER); }
ANNOTATION(void, __tsan_destroy_fiber, void* fiber) {
  lane::fiber_destroyed(static_cast<lane::FiberRef*>(fiber));
}
ANNOTATION(void, __tsan_switch_to_fiber, void* fiber, unsigned flags) {
  lane::fiber_switching(static_cast<lane::FiberRef*>(fiber), (flags & tsan::kSwitchWithoutOrder) == 0);
}
ANNOTATION(void, __tsan_set_fiber_name, void* fiber, const char* name) {
  lane::fiber_named(static_cast<lane::FiberRef*>(fiber), name);
}
ANNOTATION(void, __tsan_flush_memory, void) {}
// __tsan_default_options, __tsan_on_initialize and __tsan_on_finalize are functions that a program defines
// for ThreadSanitizer to call. Nobody calls them here. (__tsan_default_suppressions: platform/raw_log.cc.)

// --- Annotate*: the family that Valgrind, and after it ThreadSanitizer, understood

#define ANNOTATE(name, ...) \
  ANNOTATION(void, name, const char* /*file*/, int /*line*/ __VA_OPT__(, ) __VA_ARGS__)

ANNOTATE(AnnotateHappensBefore, const volatile void* object) { lane::release(object); }
ANNOTATE(AnnotateHappensAfter, const volatile void* object) { lane::acquire(object); }
ANNOTATE(WTFAnnotateHappensBefore, const volatile void* object) { lane::release(object); }
ANNOTATE(WTFAnnotateHappensAfter, const volatile void* object) { lane::acquire(object); }
ANNOTATE(AnnotateCondVarSignal, const volatile void* object) { lane::release(object); }
ANNOTATE(AnnotateCondVarSignalAll, const volatile void* object) { lane::release(object); }
ANNOTATE(AnnotateCondVarWait, const volatile void* object, const volatile void*) { lane::acquire(object); }
ANNOTATE(AnnotateMutexIsNotPHB, const volatile void*) {}
ANNOTATE(AnnotateMutexIsUsedAsCondVar, const volatile void*) {}
ANNOTATE(AnnotatePCQCreate, const volatile void*) {}
ANNOTATE(AnnotatePCQDestroy, const volatile void* queue) { lane::forget(queue); }
ANNOTATE(AnnotatePCQPut, const volatile void* queue) { lane::release(queue); }
ANNOTATE(AnnotatePCQGet, const volatile void* queue) { lane::acquire(queue); }

ANNOTATE(AnnotateRWLockCreate, const volatile void*) {}
ANNOTATE(AnnotateRWLockCreateStatic, const volatile void*) {}
ANNOTATE(AnnotateRWLockDestroy, const volatile void* lock) { lane::lock_destroyed(lock); }
ANNOTATE(AnnotateRWLockAcquired, const volatile void* lock, long is_write) {
  lock_acquired(lock, is_write == 0, CALLER);
}
ANNOTATE(AnnotateRWLockReleased, const volatile void* lock, long) { lock_releasing(lock, false, CALLER); }

ANNOTATE(AnnotateIgnoreReadsBegin) { begin_ignoring(true, false); }
ANNOTATE(AnnotateIgnoreReadsEnd) { end_ignoring(true, false); }
ANNOTATE(AnnotateIgnoreWritesBegin) { begin_ignoring(false, true); }
ANNOTATE(AnnotateIgnoreWritesEnd) { end_ignoring(false, true); }
ANNOTATE(AnnotateIgnoreSyncBegin) { begin_ignoring_sync(); }
ANNOTATE(AnnotateIgnoreSyncEnd) { end_ignoring_sync(); }
ANNOTATE(AnnotateEnableRaceDetection, int enable) {
  if (enable != 0) {
    end_ignoring(true, true);
  } else {
    begin_ignoring(true, true);
  }
}

// Without a size: eight bytes, a variable of any usual type.
ANNOTATE(AnnotateBenignRace, const volatile void* address, const char* why) {
  lane::benign_race(address, 8, why, CALLER);
}
ANNOTATE(AnnotateBenignRaceSized, const volatile void* address, size_t size, const char* why) {
  lane::benign_race(address, size, why, CALLER);
}
ANNOTATE(WTFAnnotateBenignRaceSized, const volatile void* address, size_t size, const char* why) {
  lane::benign_race(address, size, why, CALLER);
}
ANNOTATE(AnnotateExpectRace, const volatile void*, const char*) {}
ANNOTATE(AnnotateFlushExpectedRaces) {}
ANNOTATE(AnnotateNewMemory, const volatile void*, size_t) {}
ANNOTATE(AnnotatePublishMemoryRange, const volatile void* address, size_t) { lane::release(address); }
ANNOTATE(AnnotateUnpublishMemoryRange, const volatile void*, size_t) {}
ANNOTATE(AnnotateMemoryIsInitialized, const volatile void*, size_t) {}
ANNOTATE(AnnotateMemoryIsUninitialized, const volatile void*, size_t) {}
ANNOTATE(AnnotateTraceMemory, const volatile void*) {}
ANNOTATE(AnnotateThreadName, const char* name) { lane::thread_named(pthread_self(), name); }
ANNOTATE(AnnotateFlushState) {}
ANNOTATE(AnnotateNoOp, const volatile void*) {}
ANNOTATION(int, RunningOnValgrind, void) { return 0; }
