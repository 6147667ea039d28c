// The cell of a byte history (byte_history.h): what it shows, and who has the words.
#pragma once

#include <stdint.h>

#include "runtime/watch/cell.h"

namespace deadheat::watch::bytewise {

// A plain access covers nothing if its half says that it is atomic, and no access of a bytewise cell is.
constexpr uint64_t kBusy = kDhAtomicBit;
constexpr bool is_busy(const DhCell& cell) { return (cell.half[1] & kBusy) != 0; }

inline bool make_busy(DhCell* cell, const DhCell& old) {
  return !is_busy(old) && compare_and_swap_cell(cell, old, {{old.half[0], old.half[1] | kBusy}});
}

// What the cell is from now on, still bytewise; it is busy until then. One half after the other: whoever sees
// only the first sees it busy. (Both at once would have to be put together first, which waits until the words
// have been written, whose line may be far away.)
inline void end_busy(DhCell* cell, const DhCell& next) {
  __atomic_store_n(&cell->half[0], next.half[0], __ATOMIC_RELEASE);
  __atomic_store_n(&cell->half[1], next.half[1], __ATOMIC_RELEASE);
}

// The half that shows the latest label; both halves are of one thread.
constexpr uint64_t latest_half(const DhCell& cell) {
  auto const [h0, h1] = cell.half;
  return h0 > h1 ? h0 : h1;
}
constexpr uint64_t latest_of(const DhCell& cell) { return latest_half(cell) >> kDhEpochShift; }

constexpr uint64_t kName = kHalfShape | kDhLongBit;

// What it shows after an access, as a half.
constexpr DhCell shown_after(const DhCell& old, uint64_t access) {
  auto const [h0, h1] = old.half;
  auto const joined = [access](uint64_t half) {
    bool const same = ((half ^ access) & ~(kName | 0xff)) == 0;
    return same ? half | access : (half & kName) | access;
  };
  if ((h0 & kDhWriteBit) == 0) {
    if ((access & kDhWriteBit) == 0) return {{joined(h0), h1}};
    // The first write: what stood in its place are reads.
    return {{(h0 & kName) | access, (h1 & kName) | (h0 & ~kName)}};
  }
  if ((access & kDhWriteBit) != 0) return {{joined(h0), h1}};
  return {{h0, joined(h1)}};
}

}  // namespace deadheat::watch::bytewise
