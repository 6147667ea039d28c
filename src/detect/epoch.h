// A thread's slot and its clock in one word: comparing two epochs is one instruction.
#pragma once

#include <cstdint>

#include "base/strong_id.h"
#include "detect/thread_slots.h"

namespace deadheat::detect {

class Epoch {
 public:
  constexpr Epoch() = default;  // none: clocks start at 1
  constexpr Epoch(Slot slot, Clock clock) : bits_(std::uint64_t{slot.value()} << 32 | clock.value()) {}
  // A mark that is no epoch of any thread. REQUIRES: the clock's half is 0.
  static constexpr Epoch special(std::uint64_t bits) {
    Epoch epoch;
    epoch.bits_ = bits;
    return epoch;
  }

  constexpr Slot slot() const { return Slot(static_cast<std::uint32_t>(bits_ >> 32)); }
  constexpr Clock clock() const { return Clock(static_cast<std::uint32_t>(bits_)); }
  constexpr bool none() const { return bits_ == 0; }
  friend constexpr bool operator==(Epoch, Epoch) = default;

 private:
  std::uint64_t bits_ = 0;
};
static_assert(sizeof(Epoch) == 8, "two per location");

}  // namespace deadheat::detect
