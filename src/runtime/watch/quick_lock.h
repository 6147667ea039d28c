// The short way of taking and releasing a lock: inlined into what the interposers call.
//
// A lock that somebody had before has a FatCell with a SyncVar, usually one record of its last use, and
// clocks of few threads. Then there is nothing to make and nothing to look up but the place in the code, and
// what locks.cc does in steps is done here in one go, under the same lock. Everything else returns false
// having changed nothing, and goes the long way (locks.cc), which decides the same questions for every case;
// the model tests run through both.
#pragma once

#include <stdint.h>

#include "runtime/watch/locks.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/sync.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {
namespace quick {

__attribute__((always_inline)) inline LockPlace* lock_place(Thread* thread, uintptr_t pc, bool shared) {
  StackId frames = thread->hot->next_frame[-1].context;
  if (__builtin_expect(frames == 0, 0)) frames = intern_current_frames(thread);
  uint64_t const key = LockPlaces::key(pc, shared);
  uint64_t const context = site_context(frames, thread->lockset);
  LockPlace* const place = thread->lock_places.at(key, context);
  if (__builtin_expect(place->key == key, 1) && __builtin_expect(place->context == context, 1)) return place;
  return remember_lock_place(thread, pc, shared, context);
}

// The FatCell of a lock that was taken before, null if there is none. The cell names it by pointer, because
// there is a SyncVar.
__attribute__((always_inline)) inline FatCell* fat_of_lock(const DhCell* cell) {
  DhCell const seen = load_cell(cell);
  if (__builtin_expect((seen.half[0] & (kDhLongBit | 0xff)) != kDhLongBit, 0)) return nullptr;
  return reinterpret_cast<FatCell*>(seen.half[1]);
}

// Its SyncVar, if that is the granule's first; null otherwise. REQUIRES: `fat` is locked.
__attribute__((always_inline)) inline SyncVar* sync_of_lock(const FatCell* fat, const DhCell* cell,
                                                            uintptr_t lock) {
  if (__builtin_expect(fat->owner != cell, 0) || __builtin_expect(!fat->has_syncs, 0)) return nullptr;
  SyncVar* const sync = fat->first_sync();
  return __builtin_expect(sync->offset == (lock & 7), 1) ? sync : nullptr;
}

// The record of the read that the use of a lock is, without its epoch.
constexpr uint64_t read_of_lock(uintptr_t lock) { return uint64_t{1} << (Record::kMaskShift + (lock & 7)); }

// Notes that it was taken, and that the lockset is `with` now.
__attribute__((always_inline)) inline void hold(Thread* thread, uintptr_t lock, const LockPlace* place,
                                                LocksetId with, DhCell* cell, FatCell* fat, bool shared,
                                                bool unchanged) {
  thread->held[thread->held_count++] = {lock, place->acquired, thread->lockset, cell, fat, shared, unchanged};
  thread->lockset = with;
}

// A lock whose release by this thread is pending. False: nothing was done. True: that it is held is still to
// be noted.
template <bool kShared>
__attribute__((noinline)) bool take_again(Thread* thread, uintptr_t lock, DhCell* cell, FatCell* fat);
// Any lock. False: nothing was done.
template <bool kShared>
__attribute__((noinline)) bool take_lock(Thread* thread, uintptr_t lock, const LockPlace* place,
                                         LocksetId with, DhCell* cell, FatCell* fat);
// The lock that was taken last, when taking it changed nothing. False: nothing was done.
template <bool kShared>
__attribute__((noinline)) bool release_again(Thread* thread, const volatile void* lock);

// The lock that was taken last was released.
__attribute__((always_inline)) inline void no_longer_held(Thread* thread, const volatile void* lock,
                                                          LocksetId outer) {
  thread->lockset = outer;
  --thread->held_count;
  uint32_t const before = thread->span.label();
  thread->span.release_lock(lock);
  if (thread->span.label() == before) return;
  ++thread->statistics.labels;
  renew_slot_if_needed(thread);
  thread->publish_quick_floor();
}

}  // namespace quick

// False: nothing was done.
// REQUIRES: thread->not_quick is 0, the thread is inside the runtime; the lock is an object of the program.
template <bool kShared>
__attribute__((always_inline)) inline bool quick_lock_acquired(Thread* thread, const volatile void* lock,
                                                               uintptr_t pc) {
  auto const address = reinterpret_cast<uintptr_t>(lock);
  if (__builtin_expect(thread->held_count == Thread::kHeldLocks, 0)) return false;
  LockPlace* const place = quick::lock_place(thread, pc, kShared);
  if (__builtin_expect(place == nullptr, 0)) return false;
  LocksetId with = place->lockset_with(address);
  if (__builtin_expect(with == 0, 0)) {
    with = remember_lockset(thread, place, address, kShared);
    if (with == 0) return false;
  }
  Chunk* const chunk = existing_chunk(address);
  if (__builtin_expect(chunk == nullptr, 0)) return false;
  DhCell* const cell = &chunk->cells[cell_index(address)];
  FatCell* const fat = quick::fat_of_lock(cell);
  if (__builtin_expect(fat == nullptr, 0)) return false;
  if (__builtin_expect(thread->span.pending_release(lock) != thread->span.kNone, 0)) {
    if (!quick::take_again<kShared>(thread, address, cell, fat))
      return quick::take_lock<kShared>(thread, address, place, with, cell, fat);
    quick::hold(thread, address, place, with, cell, fat, kShared, true);
    return true;
  }
  if (kShared) return quick::take_lock<kShared>(thread, address, place, with, cell, fat);

  // Exclusive, and somebody else had it last, or this thread long ago. Usually one use is remembered, by
  // which the same byte was read, and which is known as soon as is known what the lock carries.
  fat->lock.lock();
  SyncVar* const sync = fat->first_sync();
  thread->sync_hints.of(fat) = sync;
  uint64_t const old = fat->few[0].bits();
  auto const epoch = Epoch::from_bits(old & Record::kEpoch);
  if (__builtin_expect(fat->owner != cell, 0) || __builtin_expect(!fat->has_one_and_syncs(), 0) ||
      __builtin_expect(sync->offset != (address & 7), 0) ||
      __builtin_expect(old >> Record::kMaskShift != quick::read_of_lock(address) >> Record::kMaskShift, 0) ||
      __builtin_expect(epoch.slot() >= eight::kEntries, 0)) {
    fat->lock.unlock();
    return quick::take_lock<kShared>(thread, address, place, with, cell, fat);
  }
  learn_from_lock<kShared>(thread, sync);
  thread->span.note_used();
  uint64_t const use = quick::read_of_lock(address) | thread->epoch().bits();
  if (__builtin_expect(thread->clock.one_of_eight(epoch.slot()) >= epoch.clock(), 1)) {
    fat->few[0].set_bits(use);
    fat->few[0].stack = place->use;
  } else {
    note_lock_use(thread, fat, address, use, place->use);
  }
  fat->lock.unlock();
  quick::hold(thread, address, place, with, cell, fat, kShared, false);
  return true;
}

// What quick_lock_acquired found is still there as long as the FatCell is the cell's, and the SyncVar its
// first: memory that was freed in between has neither.
// REQUIRES: as above, and the thread holds a lock.
template <bool kShared>
__attribute__((always_inline)) inline bool quick_lock_releasing(Thread* thread, const volatile void* lock) {
  auto const address = reinterpret_cast<uintptr_t>(lock);
  const HeldLock& held = thread->held[thread->held_count - 1];
  FatCell* const fat = held.fat;
  if (__builtin_expect(held.lock != address, 0) || __builtin_expect(fat == nullptr, 0)) return false;
  if (__builtin_expect(held.unchanged, 0)) return quick::release_again<kShared>(thread, lock);
  fat->lock.lock();
  SyncVar* const sync = quick::sync_of_lock(fat, held.cell, address);
  if (__builtin_expect(sync == nullptr, 0)) {
    fat->lock.unlock();
    return false;
  }
  thread->clock.update(thread->slot, thread->span.used());
  fat->set_last_release({});
  publish_to_lock<kShared>(thread, sync);
  fat->lock.unlock();
  quick::no_longer_held(thread, lock, held.outer);
  return true;
}
// Is the lock that was taken last, perhaps the one to be released, held for reading?
// REQUIRES: the thread holds one.
inline bool releases_shared(const Thread* thread) { return thread->held[thread->held_count - 1].shared; }

}  // namespace deadheat::watch
