// Locks: what taking one teaches, what releasing one tells, and which ones a thread holds.
//
// quick_lock.h has the short way of the same.
#pragma once

#include <stdint.h>

#include "runtime/watch/sync.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

// `is_read`: having taken it is also a read of its first byte.
void lock_acquired(Thread* thread, const volatile void* lock, bool shared, bool is_read, uintptr_t pc);
// The same while the thread is alone: nothing is learnt, nothing told.
void shared_lock_held(Thread* thread, const volatile void* lock, uintptr_t pc);
void lock_forgotten(Thread* thread, const volatile void* lock);
void lock_releasing(Thread* thread, const volatile void* lock);

// --- Steps. REQUIRES, each: the granule is locked.

// Does this thread know of every write of the lock that the granule remembers?
__attribute__((preserve_most, noinline)) bool lock_is_known(const Thread* thread, FatCell* fat,
                                                            uintptr_t lock);

// What the lock carries. Returns whether nobody can have observed this thread's own last release of it.
template <bool kShared>
__attribute__((always_inline)) inline bool learn_from_lock(Thread* thread, SyncVar* sync) {
  // A reader's release is for the next writer, whose own release forgets the readers: as long as this thread
  // is among them, no writer has been there since.
  bool const unobserved =
      kShared ? sync->is_reader(thread->slot) : sync->releaser_slot == thread->slot && !sync->observed;
  if (!kShared && unobserved) return true;
  const uint32_t* const few = sync->clock.eight_at_most();
  bool learnt = __builtin_expect(few != nullptr, 1) ? thread->clock.join_eight(few, sync->clock.size())
                                                    : thread->clock.join(sync->clock.view());
  if (!kShared && __builtin_expect(sync->reader_count != 0, 0)) learnt |= thread->clock.join(sync->readers);
  if (learnt) thread->learnt();
  sync->observed = true;
  return unobserved;
}

// Taking a lock reads it. All writes that are remembered are known already; an exclusive holder also knows
// everybody who used the lock, so that the newest use stands for all of them: who knows of it knows of them.
// `use`: its record's bits.
__attribute__((preserve_most, noinline)) void note_lock_use(Thread* thread, FatCell* fat, uintptr_t lock,
                                                            uint64_t use, StackId stack);

// Clocks of many threads; not copied if nothing has changed but the thread's own.
__attribute__((preserve_most, noinline, cold)) void publish_much_to_lock(const Thread* thread, SyncVar* sync);

// What the thread knows, its own latest release included.
template <bool kShared>
__attribute__((always_inline)) inline void publish_to_lock(const Thread* thread, SyncVar* sync) {
  if constexpr (kShared) {
    sync->readers.join(thread->clock);
    sync->add_reader(thread->slot);
  } else {
    if (__builtin_expect(!sync->clock.assign_eight(thread->clock), 0)) publish_much_to_lock(thread, sync);
    if (__builtin_expect(sync->reader_count != 0, 0)) {
      sync->readers.clear();
      sync->reader_count = 0;
    }
    sync->releaser_slot = thread->slot;
    sync->releaser_version = thread->version;
    sync->observed = false;
  }
}

}  // namespace deadheat::watch
