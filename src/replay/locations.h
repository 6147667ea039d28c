// The memory of a recorded program as the detectors see it: locations, numbered densely.
//
// A detector compares accesses of one location as a whole, and a program accesses the same bytes in pieces of
// any size. So a first pass over the replay notes where accesses begin and end; the bytes between two
// neighbouring borders are never told apart by any access of the run, and are one location. Accesses of whole
// words cost one location, and neighbouring bytes are never mistaken for each other.
//
// Memory that is given back and taken again is new: it gets new locations.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/strong_id.h"
#include "recording/item.h"

namespace deadheat::replay {

using recording::Address;

class Locations {
 public:
  // First pass: bytes that are accessed together.
  void note(Address address, std::uint64_t size);

  // Second pass: calls `visit(location, address, size)` for each location of the range.
  template <class Visit>
  void visit(Address address, std::uint64_t size, Visit&& visit) {
    for_granules(address, size, /*make=*/true,
                 [&](Page& page, unsigned index, std::uint64_t granule, unsigned from, unsigned to) {
                   const unsigned starts = page.starts[index] | 1u;
                   if (page.first[index] == 0) {
                     page.first[index] = next_;
                     for (unsigned byte = 0; byte < 8; ++byte)
                       if ((starts >> byte & 1) != 0) addresses_.push_back(Address(granule * 8 + byte));
                     next_ = static_cast<std::uint32_t>(addresses_.size());
                   }
                   each_segment(starts, from, to, [&](unsigned number, unsigned begin, unsigned end) {
                     visit(ObjectId(page.first[index] + number), Address(granule * 8 + begin), end - begin);
                   });
                 });
  }
  // The same for locations of the range that have been visited since it was fresh.
  template <class Visit>
  void visit_known(Address address, std::uint64_t size, Visit&& visit) {
    for_granules(
        address, size, /*make=*/false,
        [&](Page& page, unsigned index, std::uint64_t granule, unsigned from, unsigned to) {
          if (page.first[index] == 0) return;
          each_segment(page.starts[index] | 1u, from, to, [&](unsigned number, unsigned begin, unsigned end) {
            visit(ObjectId(page.first[index] + number), Address(granule * 8 + begin), end - begin);
          });
        });
  }
  // Before a further pass: as if nothing had been visited.
  void restart();
  // The range is new memory.
  void fresh(Address address, std::uint64_t size);

  Address address_of(ObjectId location) const { return addresses_[location.index()]; }
  std::uint64_t count() const { return addresses_.size(); }

 private:
  static constexpr unsigned kGranules = 512;  // of 8 bytes in a page
  struct Page {
    std::array<std::uint8_t, kGranules> starts{};
    std::array<std::uint32_t, kGranules> first{};  // number of the granule's first location, 0 if none yet
  };

  template <class Function>
  static void each_segment(unsigned starts, unsigned from, unsigned to, Function&& function) {
    unsigned number = 0;
    for (unsigned begin = 0; begin < to; ++number) {
      unsigned end = begin + 1;
      while (end < 8 && (starts >> end & 1) == 0) ++end;
      if (end > from) function(number, begin, end);
      begin = end;
    }
  }

  template <class Function>
  void for_granules(Address address, std::uint64_t size, bool make, Function&& function) {
    const std::uint64_t end = address.value() + size;
    for (std::uint64_t at = address.value(); at < end;) {
      Page* const page = find(at / (kGranules * 8), make);
      if (page == nullptr) {
        at = (at / (kGranules * 8) + 1) * (kGranules * 8);
        continue;
      }
      const std::uint64_t granule = at / 8;
      const std::uint64_t stop = std::min(end, granule * 8 + 8);
      function(*page, static_cast<unsigned>(granule % kGranules), granule,
               static_cast<unsigned>(at - granule * 8), static_cast<unsigned>(stop - granule * 8));
      at = stop;
    }
  }
  Page* find(std::uint64_t number, bool make);

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  Page* last_ = nullptr;
  std::uint32_t next_ = 1;
  std::vector<Address> addresses_ = {Address(0)};  // location 0 is none
};

}  // namespace deadheat::replay
