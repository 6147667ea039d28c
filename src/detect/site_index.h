// What a location with many (slot, site, kind) items has on top of the list of them: each is found by its
// key, and those at sites that are not yet known to race with a given one are found without looking at the
// others.
//
// A location that is accessed without discipline from hundreds of places has thousands of items. Nearly all
// pairs of its places are soon reported; from then on an access has nothing to find, and must not pay for the
// number of items. The index has a bit for each site that is there, a PairSet has a bit for each partner of a
// site: what is left to look at is the one without the other.
//
// Items are numbered in the order in which they are added, and never removed.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/strong_id.h"
#include "detect/pair_set.h"
#include "trace/event.h"

namespace deadheat::detect {

class SiteIndex {
 public:
  // From so many items on an index pays. Tests on small traces set it to 1.
  static inline std::uint32_t worthwhile = 32;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // The item with this key; kNone if there is none. `key_of(number)`: of an item that was added.
  template <class KeyOf>
  std::uint32_t find(std::uint64_t key, const KeyOf& key_of) const {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t i = hash(key) & mask; !table_.empty() && table_[i] != kNone; i = (i + 1) & mask) {
      if (key_of(table_[i]) == key) return table_[i];
    }
    return kNone;
  }

  // The next item: its number is how many there were before.
  template <class KeyOf>
  void add(SiteId site, bool is_write, const KeyOf& key_of) {
    static_assert(sizeof(Item) == 12);
    const std::uint32_t number = static_cast<std::uint32_t>(items_.size());
    items_.push_back(Item{site, is_write, kNone});
    if (items_.size() * 2 > table_.size()) {
      table_.assign(std::bit_ceil(items_.size() * 4), kNone);
      for (std::uint32_t i = 0; i < number; ++i) put(i, key_of(i));
    }
    put(number, key_of(number));
    highest_ = std::max(highest_, site.value());
    if (has_rows()) {
      link(number);
    } else if (is_dense()) {
      for (std::uint32_t i = 0; i <= number; ++i) link(i);
    }
  }

  // Are there few enough sites in all for rows of bits? If not, all items have to be looked at.
  bool has_rows() const { return !rows_[0].heads.empty() || !rows_[1].heads.empty(); }

  // How many items there are at sites that are not known to race with `site`, roughly.
  std::uint64_t count_unknown(bool is_write, SiteId site, const PairSet& pairs) const {
    const Row& row = rows_[is_write];
    if (row.sites == 0) return 0;
    const std::span<const std::uint64_t> known = pairs.row(site);
    std::uint64_t sites = 0;
    for (std::size_t i = 0; i < row.present.size(); ++i) {
      sites += static_cast<std::uint64_t>(std::popcount(row.present[i] & ~(i < known.size() ? known[i] : 0)));
    }
    return sites * row.items / row.sites;
  }
  // Calls visit(number) for each of them. `visit` may add to `pairs`.
  template <class Visit>
  void for_each_unknown(bool is_write, SiteId site, const PairSet& pairs, const Visit& visit) const {
    const Row& row = rows_[is_write];
    for (std::size_t i = 0; i < row.present.size(); ++i) {
      const std::span<const std::uint64_t> known = pairs.row(site);  // may have moved
      std::uint64_t unknown = row.present[i] & ~(i < known.size() ? known[i] : 0);
      for (; unknown != 0; unknown &= unknown - 1) {
        const std::size_t other = i * 64 + static_cast<std::size_t>(std::countr_zero(unknown));
        for (std::uint32_t item = row.heads[other]; item != kNone; item = items_[item].next) visit(item);
      }
    }
  }
  // How many words a look at the bits takes.
  std::uint64_t words() const { return rows_[0].present.size() + rows_[1].present.size(); }

  std::uint64_t bytes() const {
    std::uint64_t bytes =
        sizeof(*this) + items_.capacity() * sizeof(Item) + table_.capacity() * sizeof(kNone);
    for (const Row& row : rows_) bytes += row.heads.capacity() * 4 + row.present.capacity() * 8;
    return bytes;
  }

 private:
  struct Item {
    SiteId site;
    bool is_write;
    std::uint32_t next;  // of the same site and kind
  };
  struct Row {
    std::vector<std::uint32_t> heads;    // by site: its last item
    std::vector<std::uint64_t> present;  // by site: is there one?
    std::uint64_t sites = 0;
    std::uint64_t items = 0;
  };

  static std::size_t hash(std::uint64_t key) { return key * 0x9E3779B97F4A7C15ull >> 24; }
  // Rows take about eight bytes for each site of the trace: not more than the items themselves.
  bool is_dense() const { return items_.size() * 8 > highest_; }
  void put(std::uint32_t number, std::uint64_t key) {
    const std::size_t mask = table_.size() - 1;
    std::size_t i = hash(key) & mask;
    while (table_[i] != kNone) i = (i + 1) & mask;
    table_[i] = number;
  }
  void link(std::uint32_t number) {
    Item& item = items_[number];
    Row& row = rows_[item.is_write];
    const std::size_t site = item.site.index();
    if (site >= row.heads.size()) row.heads.resize(site + 1, kNone);
    if (site / 64 >= row.present.size()) row.present.resize(site / 64 + 1);
    row.sites += row.heads[site] == kNone;
    ++row.items;
    item.next = row.heads[site];
    row.heads[site] = number;
    row.present[site / 64] |= std::uint64_t{1} << site % 64;
  }

  std::vector<Item> items_;
  std::vector<std::uint32_t> table_;  // numbers, by the hash of their keys
  Row rows_[2];                       // reads, writes
  std::uint32_t highest_ = 0;
};

}  // namespace deadheat::detect
