// The commonest change of a long cell by an atomic access: this thread's record of the present label and kind
// gets more bytes, or there is none yet, and all others stay as they are. So it is where several small
// atomics share a granule.
//
// It decides as apply() (access.cc) does, or not at all. What it leaves out is what need not be done at once:
// records that are over stay until there is a new one.
#pragma once

#include <stdint.h>

#include "runtime/watch/cell.h"
#include "runtime/watch/quick.h"
#include "runtime/watch/record_rules.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

enum class InPlace {
  kCovered,
  kJoined,
  kNew,  // not covered, nothing was done: add_in_place, perhaps
  kNo    // not covered, nothing was done
};

// Tells the hooks of the record `mine`, if it is a read or they know of it already. A write covers loads, but
// who changes marks loads them first, and the record of the reads has these bytes, too. One half for each of
// two threads, if possible. The cell repeats records, perhaps not all their bytes: what it says covers what
// the record covers. Each half is true by itself, and the name of the FatCell in it stays, so that no other
// thread can see anything wrong between the two. REQUIRES: the FatCell is locked, and has no syncs; `mine` is
// an atomic access of the present label.
__attribute__((always_inline)) inline void show_own(DhCell* cell, uint64_t mine) {
  constexpr uint64_t kName = kHalfShape | kDhLongBit;
  uint64_t const half = (mine & Record::kEpoch) << kDhEpochShift |
                        ((mine & Record::kWrite) != 0 ? uint64_t{kDhWriteBit} : 0) | kDhAtomicBit |
                        (mine & Record::kMask) >> Record::kMaskShift;
  auto const [h0, h1] = load_halves(cell).half;
  if (is_by_pointer({{h0, h1}})) return;
  bool const is_shown_second = ((h1 ^ half) & ~(kName | 0xff)) == 0;
  if ((mine & Record::kWrite) != 0 && !is_shown_second && ((h0 ^ half) & ~(kName | 0xff)) != 0) return;
  if (!is_shown_second && slot_of(h0) == slot_of(half))
    __atomic_store_n(&cell->half[0], (h0 & kName) | half, __ATOMIC_RELAXED);
  else
    __atomic_store_n(&cell->half[1], (h1 & kName) | half, __ATOMIC_RELAXED);
}

// `now`: the atomic access but for its stack.
// REQUIRES: `fat` is locked, and has no syncs; thread->may_be_quick() but for being inside the runtime.
__attribute__((always_inline)) inline InPlace join_in_place(const Thread* thread, FatCell* fat, uint64_t now,
                                                            StackId stack) {
  uint64_t const mask = now & Record::kMask;
  Record* const records = fat->records();
  unsigned const count = fat->count;
  Record* mine = nullptr;
  bool others_stay = true;
#pragma clang loop unroll(disable)
  for (Record* r = records; r != records + count; ++r) {
    uint64_t const old = r->bits();
    if (((old ^ now) & ~Record::kMask) == 0) mine = r;
    if ((old & mask) == 0) continue;
    if (covers(old, now)) {
      // A plain read may cover it, too, and would be shown as less than it is.
      if (((old | now) & Record::kWrite) == 0 && (old & Record::kAtomic) != 0) show_own(fat->owner, old);
      return InPlace::kCovered;
    }
    if (mine == r) continue;
    if (thread->ordered_after(Epoch::from_bits(old & Record::kEpoch))) {
      // Superseded, unless it is this thread's of the present and has other bytes.
      if (as_strong(now, old) && !(of_present(old, now) && (old & Record::kMask & ~mask) != 0))
        others_stay = false;
    } else if (conflicting(old, now)) {
      others_stay = false;
    }
  }
  if (!others_stay) return InPlace::kNo;
  if (mine == nullptr) return InPlace::kNew;
  if (mine->stack != stack) return InPlace::kNo;
  mine->set_bits(mine->bits() | mask);
  show_own(fat->owner, mine->bits());
  return InPlace::kJoined;
}

// After kNew: adds the record, if there is room and none of the others is over (known_to_all.h): such a one
// is to go. False: nothing was done.
inline bool add_in_place(const Thread* thread, FatCell* fat, const Record& access) {
  Record* const records = fat->records();
  unsigned const count = fat->count;
  if (count == fat->capacity()) return false;
  for (unsigned i = 0; i < count; ++i) {
    if (quick::over(thread, records[i].bits() << kDhEpochShift)) return false;
  }
  records[count] = access;
  fat->count = static_cast<uint16_t>(count + 1);
  fat->show();
  return true;
}

}  // namespace deadheat::watch
