// The short way of an atomic operation at a location that carries something, or did before.
//
// The same rules as AtomicAccess's, for what is nearly always so: there is a SyncVar; the access is covered,
// or takes the place of the same access of an earlier label; its call stack is in the thread's table. All
// that is not so is handed to AtomicAccess, by calls in tail position or such that keep all registers: what
// is rare costs nothing.
#pragma once

#include <stdint.h>

#include "runtime/platform/cache_line.h"
#include "runtime/watch/atomic_access.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/quick_inside.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/sync.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

enum class Locked {
  kYes,
  kBusy,      // nothing was done, but that the thread is inside the runtime
  kMistaken,  // it is locked, but it is not what was looked for
  kGateClosed,
};

// Does the thread know the last release at this location, and with that all there is to learn?
__attribute__((always_inline)) inline bool knows_last_release(const Thread* thread, LastRelease release,
                                                              uintptr_t address) {
  return release.is_known() && release.offset() == (address & 7) &&
         thread->clock.get(release.slot()) >= release.clock();
}

enum class Needs {
  kSync,
  kSyncToLearn,  // what it carries, unless that is known already: then the SyncVar is null
};

// Locks the granule for one of the functions below; kWait: never kBusy.
// REQUIRES: thread->may_be_quick(); `fat` was named by `cell`.
template <bool kWait, Needs kNeeds = Needs::kSync>
__attribute__((always_inline)) inline Locked lock_carried(Thread* thread, uintptr_t address,
                                                          const DhCell* cell, FatCell* fat, SyncVar** sync) {
  if (__builtin_expect(!enter_quickly(thread), 0)) return Locked::kGateClosed;
  const SyncVar*& hint = thread->sync_hints.of(fat);
  if (kNeeds == Needs::kSync || hint != nullptr) platform::want_line(hint);
  platform::want_line(reinterpret_cast<const void*>(address));
  if (kWait)
    fat->lock.lock();
  else if (__builtin_expect(!fat->lock.try_lock(), 0))
    return Locked::kBusy;
  if (__builtin_expect(fat->owner != cell || !fat->has_syncs, 0)) return Locked::kMistaken;
  if (kNeeds == Needs::kSyncToLearn && knows_last_release(thread, fat->last_release(), address)) {
    hint = *sync = nullptr;  // not wanted the next time, either
    ++thread->statistics.atomics;
    return Locked::kYes;
  }
  hint = *sync = fat->first_sync();
  // A second object in one granule is rare.
  if (__builtin_expect((*sync)->offset != (address & 7), 0)) return Locked::kMistaken;
  ++thread->statistics.atomics;
  return Locked::kYes;
}

// May a load do without the lock, between two looks at its version: is it covered by what this thread did
// there before, and has it nothing to learn? Whoever changes the value and what goes with it holds the lock
// for both, so that what was seen while the lock stood still belongs together.
__attribute__((noinline, preserve_most)) bool nothing_to_do(const Thread* thread, const FatCell* fat,
                                                            uint32_t version, const DhCell* cell,
                                                            uintptr_t address, Operation what);

// The general way from where the granule is locked.
__attribute__((noinline, cold)) uint64_t load_done_generally(FatCell* fat, uintptr_t address, Operation what,
                                                             uintptr_t pc, uint64_t value);
__attribute__((noinline, cold)) void store_done_generally(FatCell* fat, uintptr_t address, Operation what,
                                                          uintptr_t pc);
__attribute__((noinline, cold)) uint64_t modify_done_generally(FatCell* fat, uintptr_t address,
                                                               Operation what, uintptr_t pc, uint64_t value);

namespace carried {

// Is the access `now` in peace with plain ones that stand beside it? No also if one of them can go, which is
// done in the general way, once.
__attribute__((noinline, preserve_most)) bool in_peace_with_plain(const Thread* thread, FatCell* fat,
                                                                  uint64_t now);

// What the access does to the records: nothing, since it is covered, or it takes the place of the same access
// of an earlier label; or, where threads take turns, of another thread's that it is ordered after and so
// supersedes. False: something else, and nothing was done.
template <bool kWrite>
__attribute__((always_inline)) inline bool note_access(Thread* thread, FatCell* fat, Operation what,
                                                       uintptr_t pc) {
  constexpr uint64_t kKind = (kWrite ? Record::kWrite : 0) | Record::kAtomic;
  uint64_t const now = thread->epoch().bits() | what.record_mask() | kKind;
  Record* r = fat->records();
  Record* mine = nullptr;
  Record* last = nullptr;
  uint64_t common = Record::kAtomic;
#pragma clang loop unroll(disable)
  for (unsigned left = fat->count; left != 0; --left, ++r) {
    uint64_t const old = r->bits();
    common &= old;
    last = r;
    if ((old ^ now) >> kDhClockBits == 0) mine = r;  // the same but for the label
  }
  // Atomic accesses are in peace with each other.
  if (common == 0 && !in_peace_with_plain(thread, fat, now)) return false;
  if (mine == nullptr) {
    if (last == nullptr || ((last->bits() ^ now) & ~Record::kEpoch) != 0 ||
        !thread->ordered_after(last->epoch()))
      return false;
    mine = last;
  } else if (mine->bits() - now < (uint64_t{1} << kDhLabelWindowBits)) {
    return true;
  }
  quick::Place place;
  if (!quick::find_place(thread, pc, what.size() | (kWrite ? kWriteSite : 0) | kAtomicSite, &place))
    return false;
  thread->span.note_used();
  mine->set_bits(now);
  mine->stack = place.stack;
  return true;
}

// Learning twice is learning once: who hands over may have done it already.
__attribute__((always_inline)) inline void learn(Thread* thread, const SyncVar* sync, int order) {
  if (sync->clock.all_known_to(thread->clock)) return;
  if (acquires(order)) {
    if (thread->clock.join(sync->clock.view())) thread->learnt();
  } else {
    thread->fence_acquire.join(sync->clock.view());
  }
}

// Not: the thread is near the end of its slot's clock and must move to another one; or it has never released
// anything.
__attribute__((always_inline)) inline bool can_publish(const Thread* thread) {
  return thread->span.label() < kLastClock - 1 && thread->slot < thread->clock.size();
}
// The rest of a release, once what the thread knew before is in `clock`: its own entry, and a new label.
// Returns what is published, 0 if it is not more than before.
// REQUIRES: can_publish(), and that the filter is `spans` and nothing is counted.
__attribute__((always_inline)) inline uint32_t publish_into(Thread* thread, SyncClock* clock) {
  uint32_t const before = thread->span.label();
  uint32_t const slot = thread->slot;
  uint32_t const published = thread->span.release();
  bool const is_more = thread->clock.get(slot) < published;
  thread->clock.update(slot, published);
  clock->update(slot, published);
  // What is published need not be the label: that may have fallen (detect/spans.h) below what was used.
  if (thread->span.label() != before) {
    ++thread->statistics.labels;
    thread->publish_quick_floor();
  }
  return is_more ? published : 0;
}

}  // namespace carried

// What an operation of this order, which was just done and whose result is `value`, means. They unlock, leave
// the runtime and return `value`. `sync` is null for a load that has nothing to learn.
// REQUIRES: Locked::kYes; `what` is of the same order.
__attribute__((always_inline)) inline uint64_t load_done(Thread* thread, FatCell* fat, SyncVar* sync,
                                                         uintptr_t address, Operation what, int order,
                                                         uintptr_t pc, uint64_t value) {
  if (sync != nullptr) carried::learn(thread, sync, order);
  if (__builtin_expect(!carried::note_access<false>(thread, fat, what, pc), 0))
    return load_done_generally(fat, address, what, pc, value);
  fat->lock.unlock();
  return leave_quickly(thread, value);
}

__attribute__((always_inline)) inline void store_done(Thread* thread, FatCell* fat, SyncVar* sync,
                                                      uintptr_t address, Operation what, int order,
                                                      uintptr_t pc) {
  if (__builtin_expect(releases(order), 1)) {
    if (__builtin_expect(!carried::can_publish(thread), 0) ||
        __builtin_expect(!carried::note_access<true>(thread, fat, what, pc), 0)) {
      return store_done_generally(fat, address, what, pc);
    }
    sync->clock.assign(thread->clock);
    uint32_t const published = carried::publish_into(thread, &sync->clock);
    fat->set_last_release(published != 0 ? LastRelease(sync->offset, thread->slot, published)
                                         : LastRelease());
  } else {
    if (__builtin_expect(!thread->fence_release.empty(), 0) ||
        __builtin_expect(!carried::note_access<true>(thread, fat, what, pc), 0)) {
      return store_done_generally(fat, address, what, pc);
    }
    sync->clock.clear();
    fat->set_last_release({});
  }
  sync->releaser_slot = 0;
  fat->lock.unlock();
  leave_quickly(thread, 0);
}

__attribute__((always_inline)) inline uint64_t modify_done(Thread* thread, FatCell* fat, SyncVar* sync,
                                                           uintptr_t address, Operation what, int order,
                                                           uintptr_t pc, uint64_t value) {
  carried::learn(thread, sync, order);
  if (__builtin_expect(releases(order), 1)) {
    if (__builtin_expect(!carried::can_publish(thread), 0) ||
        __builtin_expect(!carried::note_access<true>(thread, fat, what, pc), 0)) {
      return modify_done_generally(fat, address, what, pc, value);
    }
    sync->clock.join(thread->clock);
    carried::publish_into(thread, &sync->clock);
    fat->set_last_release({});
  } else if (__builtin_expect(!thread->fence_release.empty(), 0) ||
             __builtin_expect(!carried::note_access<true>(thread, fat, what, pc), 0)) {
    return modify_done_generally(fat, address, what, pc, value);
  }
  sync->releaser_slot = 0;
  fat->lock.unlock();
  return leave_quickly(thread, value);
}

}  // namespace deadheat::watch
