// One finding per pair of places: which pairs were told already, and how often each was met.
//
// Numbers count from 0 in the order of first sight. Everything but `size` needs a lock of the caller's.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/platform/memory.h"

namespace deadheat::platform {

template <class Type>
struct Place {
  uintptr_t pc = 0;
  Type type{};

  friend bool operator==(const Place&, const Place&) = default;
  friend bool operator<(const Place& a, const Place& b) {
    return a.pc != b.pc ? a.pc < b.pc : a.type < b.type;
  }
};

template <class Type>
class PairTable {
 public:
  struct Pair {
    Place<Type> first, second;
    uint64_t instances;
  };

  // The number of the pair, whichever of the two is named first, and whether it is new.
  size_t note(Place<Type> a, Place<Type> b, bool* fresh) {
    if (b < a) {
      Place<Type> const swap = a;
      a = b;
      b = swap;
    }
    if ((count_ + 1) * 2 > slots_) grow();
    size_t at = hash(a, b) & (slots_ - 1);
    for (; index_[at] != 0; at = (at + 1) & (slots_ - 1)) {
      Pair& pair = pairs_[index_[at] - 1];
      if (pair.first != a || pair.second != b) continue;
      ++pair.instances;
      *fresh = false;
      return index_[at] - 1;
    }
    *fresh = true;
    pairs_[count_] = {a, b, 1};
    index_[at] = static_cast<uint32_t>(count_ + 1);
    __atomic_store_n(&count_, count_ + 1, __ATOMIC_RELAXED);
    return count_ - 1;
  }

  bool contains(const Place<Type>& a, const Place<Type>& b) const {
    if (b < a) return contains(b, a);
    if (slots_ == 0) return false;
    for (size_t at = hash(a, b) & (slots_ - 1); index_[at] != 0; at = (at + 1) & (slots_ - 1)) {
      const Pair& pair = pairs_[index_[at] - 1];
      if (pair.first == a && pair.second == b) return true;
    }
    return false;
  }

  size_t size() const { return __atomic_load_n(&count_, __ATOMIC_RELAXED); }
  const Pair& operator[](size_t number) const { return pairs_[number]; }
  void clear() {
    for (size_t i = 0; i < slots_; ++i) index_[i] = 0;
    count_ = 0;
  }

 private:
  static size_t hash(const Place<Type>& a, const Place<Type>& b) {
    uint64_t const one = a.pc * 8 + static_cast<uint64_t>(a.type);
    uint64_t const two = b.pc * 8 + static_cast<uint64_t>(b.type);
    uint64_t const mixed = one * 0x9E3779B97F4A7C15ull ^ two * 0xC2B2AE3D27D4EB4Full;
    return mixed ^ mixed >> 32;
  }

  void grow() {
    size_t const slots = slots_ == 0 ? 128 : slots_ * 2;
    auto* const pairs = static_cast<Pair*>(allocate(slots / 2 * sizeof(Pair)));
    auto* const index = static_cast<uint32_t*>(allocate(slots * sizeof(uint32_t)));
    for (size_t i = 0; i < count_; ++i) {
      pairs[i] = pairs_[i];
      size_t at = hash(pairs[i].first, pairs[i].second) & (slots - 1);
      while (index[at] != 0) at = (at + 1) & (slots - 1);
      index[at] = static_cast<uint32_t>(i + 1);
    }
    release(pairs_, slots_ / 2 * sizeof(Pair));
    release(index_, slots_ * sizeof(uint32_t));
    pairs_ = pairs;
    index_ = index;
    slots_ = slots;
  }

  Pair* pairs_ = nullptr;  // half as many as slots
  uint32_t* index_ = nullptr;
  size_t count_ = 0;
  size_t slots_ = 0;
};

}  // namespace deadheat::platform
