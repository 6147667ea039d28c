// The short way of taking and releasing a lock: inlined into what the interposers call.
//
// A lock that somebody had before has a FatCell with a SyncVar, one record of its last use, and clocks of few
// threads. Then there is nothing to make and nothing to look up but the place in the code, and what locks.cc
// does in steps is done here in one go, under the same lock. Everything else returns false having changed
// nothing, and goes the long way (locks.cc), which decides the same questions for every case; the model tests
// run through both.
//
// A lock that its last holder takes again, or readers while there is no writer, usually changes nothing that
// others can see: its use and what its release tells stand there already, from the last time. Then nothing is
// locked or written: all of it is looked at between two looks at the lock's version, and is as it was at one
// moment in between, as if the lock had been held for that moment. (What a release finds there stays there
// until the lock is really released: to change it takes having the lock.) That is tried where this thread's
// last release of the lock is pending, since only then can it have been the last one to have it.
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

__attribute__((always_inline)) inline void hold(Thread* thread, uintptr_t lock, const LockPlace* place,
                                                LocksetId with, DhCell* cell, FatCell* fat, bool shared,
                                                bool unchanged) {
  thread->held[thread->held_count++] = {lock, place->acquired, thread->lockset, cell, fat, shared, unchanged};
  thread->lockset = with;
}

// Exclusive: the one use that is remembered was of the same byte, and is known by now. It has been looked at
// whether it was a read.
__attribute__((always_inline)) inline bool supersedes_use(const Thread* thread, uint64_t old) {
  Epoch const epoch = Epoch::from_bits(old & ((uint64_t{1} << Record::kMaskShift) - 1));
  return epoch.slot() < eight::kEntries && thread->clock.one_of_eight(epoch.slot()) >= epoch.clock();
}

// The SyncVar of the lock, without locking anything; null if it is not seen at a glance. `version` is the
// FatCell's: whatever is read from the SyncVar holds if that is still the same afterwards.
__attribute__((always_inline)) inline const SyncVar* look_at_sync(const FatCell* fat, const DhCell* cell,
                                                                  uintptr_t lock, uint32_t* version) {
  *version = fat->lock.version();
  if (__atomic_load_n(&fat->owner, __ATOMIC_RELAXED) != cell || !fat->has_syncs) return nullptr;
  const SyncVar* const sync = fat->first_sync();
  // Followed only if it is one: memory of such objects stays memory of such objects.
  if (__builtin_expect(!fat->lock.still(*version), 0)) return nullptr;
  return __builtin_expect(sync->offset == (lock & 7), 1) ? sync : nullptr;
}

// Is there nothing to learn and nothing to be noted when this thread takes the lock again? `use`: its record
// if there were.
template <bool kShared>
__attribute__((always_inline)) inline bool taken_unchanged(const Thread* thread, const FatCell* fat,
                                                           const DhCell* cell, uintptr_t lock, uint64_t use) {
  uint32_t version;
  const SyncVar* const sync = look_at_sync(fat, cell, lock, &version);
  if (sync == nullptr) return false;
  // A record of this thread, of the label that this is or a later one.
  auto const covers = [use](uint64_t record) { return record >= use && (record ^ use) >> kDhClockBits == 0; };
  if constexpr (kShared) {
    const uint32_t* const few = sync->clock.eight_at_most();
    if (!sync->is_reader(thread->slot) || !sync->observed || few == nullptr ||
        eight::any_larger(thread->clock.entries(), few))
      return false;
    unsigned const count = fat->count;
    if (fat->is_elsewhere() || count >= FatCell::kFew) return false;
    bool covered = false;
    uint64_t kinds = 0;
    for (unsigned i = 0; i < count; ++i) {
      uint64_t const record = fat->few[i].bits();
      covered |= covers(record);
      kinds |= record;
    }
    if (!covered || (kinds & Record::kWrite) != 0) return false;
  } else {
    if (sync->releaser_slot != thread->slot || sync->observed || !fat->has_one_and_syncs() ||
        !covers(fat->few[0].bits()))
      return false;
  }
  return fat->lock.still(version);
}

// Does the lock carry already what this thread's release would tell, now that it has used the label `used`?
template <bool kShared>
__attribute__((always_inline)) inline bool released_unchanged(const Thread* thread, const FatCell* fat,
                                                              const DhCell* cell, uintptr_t lock,
                                                              uint32_t used) {
  uint32_t version;
  const SyncVar* const sync = look_at_sync(fat, cell, lock, &version);
  if (sync == nullptr || thread->slot >= eight::kEntries) return false;
  if constexpr (kShared) {
    if (!sync->is_reader(thread->slot) || sync->readers.empty() || sync->readers.size() > eight::kEntries)
      return false;
    const uint32_t* const told = sync->readers.entries();
    // As above.
    if (!fat->lock.still(version)) return false;
    if (told[thread->slot] != used || thread->clock.size() > eight::kEntries ||
        eight::any_larger(told, thread->clock.entries()))
      return false;
  } else {
    const uint32_t* const told = sync->clock.eight_at_most();
    if (sync->releaser_slot != thread->slot || sync->releaser_version != thread->version || sync->observed ||
        sync->reader_count != 0 || !sync->readers.empty() || told == nullptr || told[thread->slot] != used)
      return false;
  }
  return fat->lock.still(version);
}

// The line is about to be written, unless it is this processor's anyway.
__attribute__((always_inline)) inline void want_line(const void* at) {
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
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
  uint64_t const read = uint64_t{1} << (Record::kMaskShift + (address & 7));
  unsigned const release = thread->span.pending_release(lock);
  if (__builtin_expect(release != thread->span.kNone, 0)) {
    if (!kShared) quick::want_line(fat);
    uint32_t const label = thread->span.label_without(release);
    if (quick::taken_unchanged<kShared>(thread, fat, cell, address,
                                        read | Epoch(thread->slot, label).bits())) {
      if (thread->span.take_back(release, true)) thread->publish_quick_floor();
      quick::hold(thread, address, place, with, cell, fat, kShared, true);
      return true;
    }
  }
  fat->lock.lock();
  // One use, by which somebody read the same byte; or for readers, any number of reads.
  constexpr uint64_t kAllButEpoch = ~((uint64_t{1} << Record::kMaskShift) - 1);
  uint64_t const old = fat->few[0].bits();
  SyncVar* const sync = fat->first_sync();
  bool const usual = kShared ? fat->has_syncs && lock_was_only_read(fat)
                             : fat->has_one_and_syncs() && ((old ^ read) & kAllButEpoch) == 0;
  if (__builtin_expect(fat->owner != cell, 0) || __builtin_expect(!usual, 0) ||
      __builtin_expect(sync->offset != (address & 7), 0)) {
    fat->lock.unlock();
    return false;
  }
  if (learn_from_lock<kShared>(thread, release, sync)) thread->publish_quick_floor();
  thread->span.note_used();
  Record use;
  use.set_bits(read | thread->epoch().bits());
  use.stack = place->use;
  if (!kShared && __builtin_expect(quick::supersedes_use(thread, old), 1))
    fat->few[0] = use;
  else
    note_lock_use(thread, fat, address & ~uintptr_t{7}, use);
  fat->lock.unlock();
  quick::hold(thread, address, place, with, cell, fat, kShared, kShared);
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
  uint32_t const before = thread->span.label();
  if (__builtin_expect(!held.unchanged, 1) ||
      !quick::released_unchanged<kShared>(thread, fat, held.cell, address, thread->span.used())) {
    fat->lock.lock();
    SyncVar* const sync = fat->first_sync();
    if (__builtin_expect(fat->owner != held.cell, 0) || __builtin_expect(!fat->has_syncs, 0) ||
        __builtin_expect(sync->offset != (address & 7), 0)) {
      fat->lock.unlock();
      return false;
    }
    thread->clock.update(thread->slot, thread->span.used());
    publish_to_lock<kShared>(thread, sync);
    fat->lock.unlock();
  }
  thread->lockset = held.outer;
  --thread->held_count;
  thread->span.release_lock(lock);
  if (thread->span.label() != before) {
    ++thread->statistics.labels;
    renew_slot_if_needed(thread);
    thread->publish_quick_floor();
  }
  return true;
}
// Is the lock that was taken last, perhaps the one to be released, held for reading?
// REQUIRES: the thread holds one.
inline bool releases_shared(const Thread* thread) { return thread->held[thread->held_count - 1].shared; }

}  // namespace deadheat::watch
