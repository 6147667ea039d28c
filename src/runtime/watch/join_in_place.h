// The commonest change of a long cell by an atomic access: this thread's record of the present label and kind
// gets more bytes, and all others stay as they are. So it is where several small atomics share a granule.
//
// It decides as apply() (access.cc) does, or not at all. What it leaves out is what need not be done at once:
// records that are over stay until an access goes the general way.
#pragma once

#include <stdint.h>

#include "runtime/watch/cell.h"
#include "runtime/watch/record_rules.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

enum class InPlace { kCovered, kJoined, kNo };

// Tells the hooks that the record of `now` has the bytes of `now`, too. The cell repeats records, perhaps not
// all their bytes: what it says covers what the record covers. Each half is true by itself, and the name of
// the FatCell in it stays, so that no other thread can see anything wrong between the two.
// REQUIRES: the FatCell is locked, and has no syncs. `bytes`: all those of the record.
__attribute__((always_inline)) inline void show_joined(DhCell* cell, uint64_t now, uint64_t bytes) {
  constexpr uint64_t kBesides = kHalfShape | kDhLongBit | 0xff;
  uint64_t const half = (now & Record::kEpoch) << kDhEpochShift |
                        ((now & Record::kWrite) != 0 ? uint64_t{kDhWriteBit} : 0) | kDhAtomicBit | bytes;
  auto const [h0, h1] = load_halves(cell).half;
  if (((h0 ^ half) & ~kBesides) == 0)
    __atomic_store_n(&cell->half[0], h0 | bytes, __ATOMIC_RELAXED);
  else if (!is_by_pointer({{h0, h1}}))
    __atomic_store_n(&cell->half[1], (h1 & kHalfShape) | half, __ATOMIC_RELAXED);
}

// `now`: the atomic access but for its stack. kNo: nothing was done.
// REQUIRES: `fat` is locked, and has no syncs; thread->may_be_quick() but for being inside the runtime.
__attribute__((always_inline)) inline InPlace join_in_place(const Thread* thread, FatCell* fat, uint64_t now,
                                                            StackId stack) {
  uint64_t const mask = now & Record::kMask;
  Record* r = fat->records();
  Record* mine = nullptr;
#pragma clang loop unroll(disable)
  for (unsigned left = fat->count; left != 0; --left, ++r) {
    uint64_t const old = r->bits();
    if (((old ^ now) & ~Record::kMask) == 0) mine = r;
    if ((old & mask) == 0) continue;
    if (covers(old, now)) return InPlace::kCovered;
    if (mine == r) continue;
    if (thread->ordered_after(Epoch::from_bits(old & Record::kEpoch))) {
      // Superseded, unless it is this thread's of the present and has other bytes.
      if (as_strong(now, old) && !(of_present(old, now) && (old & Record::kMask & ~mask) != 0))
        return InPlace::kNo;
    } else if (conflicting(old, now)) {
      return InPlace::kNo;
    }
  }
  if (mine == nullptr || mine->stack != stack) return InPlace::kNo;
  uint64_t const joined = mine->bits() | mask;
  mine->set_bits(joined);
  show_joined(fat->owner, now, (joined & Record::kMask) >> Record::kMaskShift);
  return InPlace::kJoined;
}

}  // namespace deadheat::watch
