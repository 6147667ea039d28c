/* Every annotation, from C. */
#include <deadheat/annotate.h>

#include "runtime/interpose/tests/fake_lane.h"

void __tsan_acquire(void*);
void __tsan_release(void*);
void __tsan_mutex_create(void*, unsigned);
void __tsan_mutex_destroy(void*, unsigned);
void __tsan_mutex_pre_lock(void*, unsigned);
void __tsan_mutex_post_lock(void*, unsigned, int);
int __tsan_mutex_pre_unlock(void*, unsigned);
void __tsan_mutex_post_unlock(void*, unsigned);
void __tsan_mutex_pre_divert(void*, unsigned);
void __tsan_mutex_post_divert(void*, unsigned);
void __tsan_external_write(void*, void*, void*);
void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned);
void __tsan_switch_to_fiber(void*, unsigned);
void __tsan_destroy_fiber(void*);
void AnnotateHappensBefore(const char*, int, const volatile void*);
void AnnotateHappensAfter(const char*, int, const volatile void*);
void AnnotateRWLockAcquired(const char*, int, const volatile void*, long);
void AnnotateRWLockReleased(const char*, int, const volatile void*, long);
void AnnotateBenignRaceSized(const char*, int, const volatile void*, size_t, const char*);
void AnnotateIgnoreReadsBegin(const char*, int);
void AnnotateIgnoreReadsEnd(const char*, int);

int main(void) {
  int x = 0, y = 0;
  record_name(&x, sizeof x, "x");
  record_name(&y, sizeof y, "y");
  EXPECT(DEADHEAT_HAPPENS_BEFORE(&x), "release x");
  EXPECT(DEADHEAT_HAPPENS_AFTER(&x), "acquire x");
  EXPECT(DEADHEAT_LOCK_ACQUIRED(&x), "lock x X");
  EXPECT(DEADHEAT_LOCK_ACQUIRED(&x), "");
  EXPECT(DEADHEAT_LOCK_RELEASING(&x), "");
  EXPECT(DEADHEAT_LOCK_RELEASING(&x), "unlock x");
  EXPECT(DEADHEAT_LOCK_ACQUIRED_SHARED(&x), "lock x S");
  EXPECT(DEADHEAT_LOCK_RELEASING_SHARED(&x), "unlock x");
  EXPECT(DEADHEAT_LOCK_DESTROYED(&x), "lock_destroyed x");
  EXPECT(DEADHEAT_BENIGN_RACE(x, "statistics"), "benign x 4");
  EXPECT(DEADHEAT_BENIGN_RACE_RANGE(&x, 2, "statistics"), "benign x 2");
  EXPECT(DEADHEAT_IGNORE_BEGIN(), "ignore_begin rw");
  EXPECT(DEADHEAT_IGNORE_END(), "ignore_end rw");
  EXPECT(DEADHEAT_IGNORE_READS_BEGIN(), "ignore_begin r");
  EXPECT(DEADHEAT_IGNORE_READS_END(), "ignore_end r");
  EXPECT(DEADHEAT_IGNORE_WRITES_BEGIN(), "ignore_begin w");
  EXPECT(DEADHEAT_IGNORE_WRITES_END(), "ignore_end w");
  EXPECT(DEADHEAT_THREAD_NAME("worker"), "thread_named worker");
  DEADHEAT_CORRELATED(x, y);
  DEADHEAT_CORRELATED(x, y, x, y, x, y, x, y);

  EXPECT(__tsan_release(&x), "release x");
  EXPECT(__tsan_acquire(&x), "acquire x");
  __tsan_mutex_create(&y, 0);
  EXPECT(__tsan_mutex_pre_lock(&y, 0), "ignore_begin rw; ignore_sync_begin");
  EXPECT(__tsan_mutex_pre_divert(&y, 0), "ignore_sync_end; ignore_end rw");
  EXPECT(__tsan_mutex_post_divert(&y, 0), "ignore_begin rw; ignore_sync_begin");
  EXPECT(__tsan_mutex_post_lock(&y, 0, 0), "ignore_sync_end; ignore_end rw; lock y X");
  EXPECT(CHECK(__tsan_mutex_pre_unlock(&y, 0) == 0), "unlock y; ignore_begin rw; ignore_sync_begin");
  EXPECT(__tsan_mutex_post_unlock(&y, 0), "ignore_sync_end; ignore_end rw");
  /* A try that failed is no lock; a recursive unlock gives up all at once and says how many. */
  __tsan_mutex_pre_lock(&y, 1 << 4);
  EXPECT(__tsan_mutex_post_lock(&y, 1 << 4 | 1 << 5, 0), "ignore_sync_end; ignore_end rw");
  for (int i = 0; i < 3; ++i) {
    __tsan_mutex_pre_lock(&y, 0);
    __tsan_mutex_post_lock(&y, 0, 0);
  }
  EXPECT(CHECK(__tsan_mutex_pre_unlock(&y, 1 << 7) == 3), "unlock y; ignore_begin rw; ignore_sync_begin");
  __tsan_mutex_post_unlock(&y, 1 << 7);
  __tsan_mutex_pre_lock(&y, 1 << 6);
  EXPECT(__tsan_mutex_post_lock(&y, 1 << 6, 3), "ignore_sync_end; ignore_end rw; lock y X");
  for (int i = 0; i < 2; ++i) {
    EXPECT(__tsan_mutex_pre_unlock(&y, 0), "ignore_begin rw; ignore_sync_begin");
    __tsan_mutex_post_unlock(&y, 0);
  }
  EXPECT(__tsan_mutex_pre_unlock(&y, 0), "unlock y; ignore_begin rw; ignore_sync_begin");
  __tsan_mutex_post_unlock(&y, 0);
  EXPECT(__tsan_mutex_destroy(&y, 0), "lock_destroyed y");
  EXPECT(__tsan_external_write(&x, NULL, NULL), "write x 1");

  void* const home = __tsan_get_current_fiber();
  void* const fiber = __tsan_create_fiber(0);
  record_name(home, 1, "home");
  record_name(fiber, 1, "fiber");
  EXPECT(__tsan_switch_to_fiber(fiber, 0), "release home; acquire fiber");
  CHECK(__tsan_get_current_fiber() == fiber);
  EXPECT(__tsan_switch_to_fiber(home, 0), "release fiber; acquire home");
  EXPECT(__tsan_destroy_fiber(fiber), "forget fiber");

  EXPECT(AnnotateHappensBefore(__FILE__, __LINE__, &x), "release x");
  EXPECT(AnnotateHappensAfter(__FILE__, __LINE__, &x), "acquire x");
  EXPECT(AnnotateRWLockAcquired(__FILE__, __LINE__, &x, 1), "lock x X");
  EXPECT(AnnotateRWLockReleased(__FILE__, __LINE__, &x, 1), "unlock x");
  EXPECT(AnnotateRWLockAcquired(__FILE__, __LINE__, &x, 0), "lock x S");
  EXPECT(AnnotateRWLockReleased(__FILE__, __LINE__, &x, 0), "unlock x");
  EXPECT(AnnotateBenignRaceSized(__FILE__, __LINE__, &x, 3, ""), "benign x 3");
  EXPECT(AnnotateIgnoreReadsBegin(__FILE__, __LINE__), "ignore_begin r");
  EXPECT(AnnotateIgnoreReadsEnd(__FILE__, __LINE__), "ignore_end r");
  return 0;
}
