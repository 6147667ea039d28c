// Where the chains of an insert-only hash table begin.
//
// As many as there are things to find, roughly. One array for the largest program would cost a small one a
// page for each of its first thousand things. So there are several, each eight times as large as the one
// before, and what is added goes to the first that is not crowded yet; it stays there, and who looks for
// something asks all of them up to that one.
#pragma once

#include <stdint.h>

namespace deadheat::watch {

// `kMostBits` - 10 is a multiple of 3.
template <unsigned kMostBits>
class Buckets {
 public:
  // The array for what is added while there are `count` things already.
  static constexpr unsigned newest(uint32_t count) {
    unsigned array = 0;
    while (array + 1 < kArrays && count >= 2 * size(array)) ++array;
    return array;
  }
  uint32_t* of(unsigned array, uint64_t hash) { return &first_[begin(array) + (hash & (size(array) - 1))]; }

 private:
  static constexpr unsigned kFewestBits = 10;
  static constexpr unsigned kStep = 3;
  static constexpr unsigned kArrays = (kMostBits - kFewestBits) / kStep + 1;
  static_assert((kMostBits - kFewestBits) % kStep == 0);

  static constexpr uint32_t size(unsigned array) { return 1u << (kFewestBits + kStep * array); }
  static constexpr uint32_t begin(unsigned array) {
    uint32_t before = 0;
    for (unsigned i = 0; i < array; ++i) before += size(i);
    return before;
  }

  uint32_t first_[begin(kArrays)];
};

}  // namespace deadheat::watch
