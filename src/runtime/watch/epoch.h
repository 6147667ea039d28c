// An epoch: a thread's slot and its clock there, as FastTrack writes c@t.
//
// A slot is an identity in vector clocks. It is taken over by a new thread only when every live thread has
// observed the end of the previous owner, and its clock goes on where it stopped; so no state can ever
// mistake one thread for another.
#pragma once

#include <stdint.h>

#include "runtime/abi.h"

namespace deadheat::watch {

inline constexpr uint32_t kSlots = 1u << (64 - kDhEpochShift - kDhClockBits);
// The highest bit of a clock says that it is none (read_notes.h). A thread moves to a fresh slot before its
// clock comes near that: see kDhLabelWindowBits.
inline constexpr uint32_t kNoClock = 1u << (kDhClockBits - 1);
#ifdef DEADHEAT_LAST_CLOCK  // a test's, who has no time for millions of labels
inline constexpr uint32_t kLastClock = DEADHEAT_LAST_CLOCK;
#else
inline constexpr uint32_t kLastClock = kNoClock - (2u << kDhLabelWindowBits);
#endif

class Epoch {
 public:
  constexpr Epoch() = default;
  constexpr Epoch(uint32_t slot, uint32_t clock)
      : bits_((static_cast<uint64_t>(slot) << kDhClockBits) | clock) {}
  static constexpr Epoch from_bits(uint64_t bits) {
    Epoch e;
    e.bits_ = bits;
    return e;
  }

  constexpr uint64_t bits() const { return bits_; }
  constexpr uint32_t slot() const { return static_cast<uint32_t>(bits_ >> kDhClockBits); }
  constexpr uint32_t clock() const { return static_cast<uint32_t>(bits_) & ((1u << kDhClockBits) - 1); }

  friend constexpr bool operator==(Epoch, Epoch) = default;

 private:
  uint64_t bits_ = 0;  // 42 bits are used
};

}  // namespace deadheat::watch
