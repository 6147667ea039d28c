// The pairs of sites that have been reported. A pair has no order: (a, b) is (b, a).
//
// A hash table answers for one pair. Detectors that look for every pair ask more: which of the sites at this
// location are not yet known to race with mine? Where the answer is "none", as it soon is at a location
// without any discipline, that must not cost a question for each of them. So a site with many partners also
// has a row of bits, one for each site, and whoever has such a row of the sites he is interested in
// (site_index.h) compares 64 of them at a time. A row is made when it is smaller than the list of partners it
// replaces: it never costs more than the pairs themselves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
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
    add_partner(a, b);
    if (a != b) add_partner(b, a);
    return true;
  }
  bool contains(SiteId a, SiteId b) const {
    const std::uint64_t key = key_of(a, b);
    return *const_cast<PairSet*>(this)->find(key) == key;
  }
  std::size_t size() const { return size_; }

  // A bit for each partner of the site, as far as they go. Empty if the site has few: ask contains().
  std::span<const std::uint64_t> row(SiteId site) const {
    if (site.index() >= partners_.size()) return {};
    return partners_[site.index()].row;
  }
  std::uint64_t bytes() const {
    return slots_.capacity() * sizeof(std::uint64_t) + partners_.capacity() * sizeof(Partners) + row_bytes_;
  }

 private:
  // Site ids are below 2^32 - 1, so no pair has all bits set.
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  struct Partners {
    std::vector<std::uint32_t> few;  // until there is a row
    std::vector<std::uint64_t> row;
  };

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
  void add_partner(SiteId site, SiteId other) {
    const std::size_t needed = std::max(site.index(), other.index()) + 1;
    if (needed > partners_.size()) partners_.resize(std::max(needed, partners_.size() * 2));
    Partners& mine = partners_[site.index()];
    if (!mine.row.empty()) return set(mine.row, other.value());
    const std::size_t before = mine.few.capacity();
    mine.few.push_back(other.value());
    row_bytes_ += (mine.few.capacity() - before) * sizeof(std::uint32_t);
    if (mine.few.size() * sizeof(std::uint32_t) * 8 < partners_.size()) return;
    for (const std::uint32_t partner : mine.few) set(mine.row, partner);
    row_bytes_ -= mine.few.capacity() * sizeof(std::uint32_t);
    mine.few = {};
  }
  void set(std::vector<std::uint64_t>& row, std::uint32_t bit) {
    const std::size_t before = row.capacity();
    if (bit / 64 >= row.size()) row.resize(bit / 64 + 1);
    row[bit / 64] |= std::uint64_t{1} << bit % 64;
    row_bytes_ += (row.capacity() - before) * sizeof(std::uint64_t);
  }

  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(64, kEmpty);
  std::vector<Partners> partners_;  // by site
  std::size_t size_ = 0;
  std::uint64_t row_bytes_ = 0;
};

}  // namespace deadheat::detect
