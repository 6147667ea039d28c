// The pairs of sites that have been reported. A pair has no order: (a, b) is (b, a).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/strong_id.h"

namespace deadheat::detect {

class PairSet {
 public:
  // True if the pair was not there before.
  bool insert(SiteId a, SiteId b) {
    const std::uint64_t key = key_of(a, b);
    std::uint64_t* slot = find(key);
    if (*slot == key) return false;
    *slot = key;
    if (++size_ * 2 > slots_.size()) grow();
    return true;
  }
  bool contains(SiteId a, SiteId b) const {
    const std::uint64_t key = key_of(a, b);
    return *const_cast<PairSet*>(this)->find(key) == key;
  }
  std::size_t size() const { return size_; }

 private:
  // Site ids are below 2^32 - 1, so no pair has all bits set.
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  static std::uint64_t key_of(SiteId a, SiteId b) {
    return std::uint64_t{std::min(a, b).value()} << 32 | std::max(a, b).value();
  }
  std::uint64_t* find(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = (key * 0x9E3779B97F4A7C15ull >> 20) & mask;
    while (slots_[i] != kEmpty && slots_[i] != key) i = (i + 1) & mask;
    return &slots_[i];
  }
  void grow() {
    std::vector<std::uint64_t> old(slots_.size() * 2, kEmpty);
    old.swap(slots_);
    for (const std::uint64_t key : old) {
      if (key != kEmpty) *find(key) = key;
    }
  }

  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(64, kEmpty);
  std::size_t size_ = 0;
};

}  // namespace deadheat::detect
