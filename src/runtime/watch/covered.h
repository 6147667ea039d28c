// What this thread has covered already, at a glance: the rule of inline_hooks.cc for ranges.
#pragma once

#include <stdint.h>

#include "runtime/abi.h"

namespace deadheat::watch {

constexpr uintptr_t kChunk = uintptr_t{1} << kDhChunkBits;
constexpr uint64_t kOutsideWindow = ~((uint64_t{1} << (kDhEpochShift + kDhLabelWindowBits)) - 1);
// What must be 0 in the difference of a half and the floor: the atomic bit, too, for a plain access.
constexpr uint64_t kMustNot = kOutsideWindow | kDhAtomicBit;

// Zero if `half` is an access of this thread that covers one that needs the bits `need`: the rule of
// inline_hooks.cc, without a branch. An atomic access is covered by atomic ones, too: kOutsideWindow.
constexpr uint64_t missing_in(uint64_t half, uint64_t floor, uint64_t need, uint64_t must_not = kMustNot) {
  return ((half - floor) ^ need) & (need | must_not);
}
inline uint64_t missing(const uint64_t& half, uint64_t floor, uint64_t need) {
  return missing_in(__atomic_load_n(&half, __ATOMIC_RELAXED), floor, need);
}

inline bool is_covered(const DhCell* cell, uint64_t floor, uint64_t need) {
  return missing(cell->half[0], floor, need) == 0 || missing(cell->half[1], floor, need) == 0;
}

// The first byte of [at, end) that this thread has not covered already, so that a range which is walked again
// and again costs two or three instructions per eight bytes.
inline uintptr_t first_uncovered(uintptr_t at, uintptr_t end, bool write) {
  constexpr uintptr_t kBatch = 8;
  uint64_t const floor = __dh_hot.floor;
  uint64_t const kind = write ? kDhWriteBit : 0;
  uint64_t const whole = kind | 0xff;
  while (at < end) {
    uintptr_t const entry = __dh_shadow[at >> kDhChunkBits];
    if (entry == 0) return at;
    uintptr_t const chunk_end = (at & ~(kChunk - 1)) + kChunk;
    uintptr_t const stop = end < chunk_end ? end : chunk_end;
    uintptr_t batch_from = at;  // where the next batch is worth a try
    while (at < stop) {
      const DhCell* const cell = dh_cell(entry, at & ~uintptr_t{7});
      if ((at & 7) == 0 && stop - at >= 8) {
        if (at >= batch_from && stop - at >= 8 * kBatch) {
          uint64_t any = 0;
          for (uintptr_t i = 0; i < kBatch; ++i) any |= missing(cell[i].half[0], floor, whole);
          batch_from = at + 8 * kBatch;
          if (any == 0) {
            at = batch_from;
            continue;
          }
        }
        if (!is_covered(cell, floor, whole)) return at;
        at += 8;
        continue;
      }
      uintptr_t const granule_end = (at & ~uintptr_t{7}) + 8;
      uintptr_t const next = granule_end < stop ? granule_end : stop;
      if (!is_covered(cell, floor, kind | (((uint64_t{1} << (next - at)) - 1) << (at & 7)))) return at;
      at = next;
    }
  }
  return end;
}

}  // namespace deadheat::watch
