// The short way of taking and releasing a lock: inlined into what the interposers call.
//
// A lock that somebody had before has a FatCell with a SyncVar, one record of its last use, and clocks of few
// threads. Then there is nothing to make and nothing to look up but the place in the code, and what locks.cc
// does in steps is done here in one go, under the same lock. Everything else returns false having changed
// nothing, and goes the long way (locks.cc), which decides the same questions for every case; the model tests
// run through both.
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

// The FatCell of a lock that was taken before. The cell names it by pointer, because there is a SyncVar.
// Locked; null if there is none.
__attribute__((always_inline)) inline FatCell* lock_fat_of_lock(DhCell* cell) {
  DhCell const seen = load_cell(cell);
  if (__builtin_expect((seen.half[0] & (kDhLongBit | 0xff)) != kDhLongBit, 0)) return nullptr;
  auto* const fat = reinterpret_cast<FatCell*>(seen.half[1]);
  fat->lock.lock();
  if (__builtin_expect(fat->owner == cell, 1)) return fat;
  fat->lock.unlock();
  return nullptr;
}

__attribute__((always_inline)) inline void hold(Thread* thread, uintptr_t lock, const LockPlace* place,
                                                LocksetId with, DhCell* cell, FatCell* fat, bool shared) {
  thread->held[thread->held_count++] = {lock, place->acquired, thread->lockset, cell, fat, shared};
  thread->lockset = with;
}

// Exclusive: the one use that is remembered was of the same byte, and is known by now. It has been looked at
// whether it was a read.
__attribute__((always_inline)) inline bool supersedes_use(const Thread* thread, uint64_t old) {
  Epoch const epoch = Epoch::from_bits(old & ((uint64_t{1} << Record::kMaskShift) - 1));
  return epoch.slot() < eight::kEntries && thread->clock.one_of_eight(epoch.slot()) >= epoch.clock();
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
  FatCell* const fat = quick::lock_fat_of_lock(cell);
  if (__builtin_expect(fat == nullptr, 0)) return false;
  // One use, by which somebody read the same byte; or for readers, any number of reads.
  uint64_t const read = uint64_t{1} << (Record::kMaskShift + (address & 7));
  constexpr uint64_t kAllButEpoch = ~((uint64_t{1} << Record::kMaskShift) - 1);
  uint64_t const old = fat->few[0].bits();
  SyncVar* const sync = fat->first_sync();
  bool const usual = kShared ? fat->has_syncs && lock_was_only_read(fat)
                             : fat->has_one_and_syncs() && ((old ^ read) & kAllButEpoch) == 0;
  if (__builtin_expect(!usual, 0) || __builtin_expect(sync->offset != (address & 7), 0)) {
    fat->lock.unlock();
    return false;
  }
  if (learn_from_lock<kShared>(thread, lock, sync)) thread->publish_quick_floor();
  thread->span.note_used();
  Record use;
  use.set_bits(read | thread->epoch().bits());
  use.stack = place->use;
  if (!kShared && __builtin_expect(quick::supersedes_use(thread, old), 1))
    fat->few[0] = use;
  else
    note_lock_use(thread, fat, address & ~uintptr_t{7}, use);
  fat->lock.unlock();
  quick::hold(thread, address, place, with, cell, fat, kShared);
  return true;
}

// What quick_lock_acquired found is still there as long as the FatCell is the cell's, and the SyncVar its
// first: memory that was freed in between has neither.
template <bool kShared>
__attribute__((always_inline)) inline bool quick_lock_releasing(Thread* thread, const volatile void* lock) {
  auto const address = reinterpret_cast<uintptr_t>(lock);
  if (__builtin_expect(thread->held_count == 0, 0)) return false;
  const HeldLock& held = thread->held[thread->held_count - 1];
  FatCell* const fat = held.fat;
  if (__builtin_expect(held.lock != address, 0) || __builtin_expect(fat == nullptr, 0)) return false;
  fat->lock.lock();
  SyncVar* const sync = fat->first_sync();
  if (__builtin_expect(fat->owner != held.cell, 0) || __builtin_expect(!fat->has_syncs, 0) ||
      __builtin_expect(sync->offset != (address & 7), 0)) {
    fat->lock.unlock();
    return false;
  }
  thread->lockset = held.outer;
  --thread->held_count;
  uint32_t const before = thread->span.label();
  thread->clock.update(thread->slot, thread->span.release_lock(lock));
  publish_to_lock<kShared>(thread, sync);
  fat->lock.unlock();
  if (thread->span.label() != before) {
    ++thread->statistics.labels;
    renew_slot_if_needed(thread);
    thread->publish_quick_floor();
  }
  return true;
}
// Is the lock that was taken last, if that is the one to be released, held for reading?
inline bool releases_shared(const Thread* thread) {
  return thread->held_count != 0 && thread->held[thread->held_count - 1].shared;
}

}  // namespace deadheat::watch
