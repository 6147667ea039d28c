// The rules of detect/access_rules.h on whole records, as numbers (Record::bits).
#pragma once

#include <stdint.h>

#include "runtime/abi.h"
#include "runtime/watch/cell.h"

namespace deadheat::watch {

// detect::conflict and detect::at_least_as_strong.
constexpr bool conflicting(uint64_t a, uint64_t b) {
  return ((a | b) & Record::kWrite) != 0 && (a & b & Record::kAtomic) == 0;
}
constexpr bool as_strong(uint64_t a, uint64_t b) {
  return (~a & b & Record::kWrite) == 0 && (a & ~b & Record::kAtomic) == 0;
}
static_assert(conflicting(Record::kWrite, 0) == detect::conflict({true, false}, {false, false}));

// Is `old` an access of the thread that makes `now`, of the present label? Of one thread the later label is
// the larger number; labels of other slots are out of reach.
constexpr bool of_present(uint64_t old, uint64_t now) {
  return (old & Record::kEpoch) - (now & Record::kEpoch) < (uint64_t{1} << kDhLabelWindowBits);
}

// Is `now` dropped because of `old`? That `old` is of the present, has the bytes and is as strong, asked at
// once: what is looked for depends on `now` only. (The difference cannot wrap around to a small one, because
// clocks stay below kLastClock.)
constexpr bool covers(uint64_t old, uint64_t now) {
  constexpr uint64_t kOutside = Record::kEpoch & ~((uint64_t{1} << kDhLabelWindowBits) - 1);
  uint64_t const needed = now & (Record::kMask | Record::kWrite);
  uint64_t const wrong = ~now & Record::kAtomic;
  return (((old - (now & Record::kEpoch)) ^ needed) & (needed | wrong | kOutside)) == 0;
}

}  // namespace deadheat::watch
