// The memory of a recorded program as the detectors see it: locations, numbered densely.
//
// A detector compares accesses of one location as a whole, and a program accesses the same bytes in pieces of
// any size. So a first pass over the replay notes where accesses begin and end; the bytes between two
// neighbouring borders are never told apart by any access of the run, and are one location. Accesses of whole
// words cost one location, and neighbouring bytes are never mistaken for each other.
//
// Memory that is given back and taken again is new: it gets new locations. That may be a part of a granule
// only (a local of four bytes beside another one): such a granule's locations are then numbered one by one.
//
// The first pass also notes who accesses what: bytes that only one thread ever touches cannot race, and need
// no events. And it notes which memory is allocated at all (heap blocks, stacks, locals), so that the second
// pass can tell an access of memory that is not there at the moment: see race_events.h.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/strong_id.h"
#include "recording/item.h"

namespace deadheat::replay {

using recording::Address;

class Locations {
 public:
  // --- First pass

  // Bytes that a thread accesses together.
  void note(Address address, std::uint64_t size, ThreadId thread);
  // It is given back: that counts as an access by the thread, wherever anybody else has one.
  void note_end(Address address, std::uint64_t size, ThreadId thread);
  // A local: its borders.
  void note_local(Address address, std::uint64_t size);
  // Memory that comes and goes.
  void note_allocation(Address address, std::uint64_t size);
  // After the first pass, and before each further one: as if nothing had been visited.
  void restart();

  // --- Further passes

  // Calls `visit(location, address, size)` for each location of the range; without `all`, only for those that
  // several threads access or that were marked.
  template <class Visit>
  void visit(Address address, std::uint64_t size, bool all, Visit&& visit) {
    for_granules(address, size, /*make=*/true,
                 [&](Page& page, unsigned index, std::uint64_t granule, unsigned from, unsigned to) {
                   if (!all && !counts(page, index)) return;
                   visit_granule(page, index, granule, from, to, visit);
                 });
  }
  // The same for all locations of the range that are accessed at any time, in pieces that were asked for
  // before or not.
  template <class Visit>
  void visit_touched(Address address, std::uint64_t size, Visit&& visit) {
    for_granules(address, size, /*make=*/false,
                 [&](Page& page, unsigned index, std::uint64_t granule, unsigned from, unsigned to) {
                   if (page.owner[index] != 0) visit_granule(page, index, granule, from, to, visit);
                 });
  }
  // The same for locations of the range that have been visited since it was fresh.
  template <class Visit>
  void visit_known(Address address, std::uint64_t size, Visit&& visit) {
    for_granules(address, size, /*make=*/false,
                 [&](Page& page, unsigned index, std::uint64_t granule, unsigned from, unsigned to) {
                   if (page.first[index] == 0) return;
                   each_segment(
                       page.starts[index] | 1u, from, to, [&](unsigned number, unsigned begin, unsigned end) {
                         const std::uint32_t location = is_split(page.first[index])
                                                            ? split_[page.first[index] & ~kSplit][number]
                                                            : page.first[index] + number;
                         if (location != 0)
                           visit(ObjectId(location), Address(granule * 8 + begin), end - begin);
                       });
                 });
  }
  // A location that is no memory.
  ObjectId extra(Address address) {
    addresses_.push_back(address);
    return ObjectId(static_cast<std::uint32_t>(addresses_.size() - 1));
  }

  // From now on, and in later passes, the range counts as accessed by several threads.
  void mark(Address address, std::uint64_t size);
  // Does more than one thread access any of it, at any time, or is it marked?
  bool is_shared(Address address, std::uint64_t size);
  // Does any other thread than this one access any of it, at any time?
  bool is_touched_by_others(Address address, std::uint64_t size, ThreadId thread);
  // Is it allocated now? True for memory that nobody allocates.
  bool is_there(Address address);
  // The range is allocated: new memory. A stack is that but for the locals that will come to it.
  void born(Address address, std::uint64_t size, bool is_stack = false);
  // It is given back.
  void died(Address address, std::uint64_t size);

  Address address_of(ObjectId location) const { return addresses_[location.index()]; }
  std::uint64_t count() const { return addresses_.size(); }

 private:
  static constexpr unsigned kGranules = 512;  // of 8 bytes in a page
  static constexpr std::uint64_t kPageBytes = std::uint64_t{kGranules} * 8;
  static constexpr std::uint32_t kSplit = 1u << 31;
  static constexpr std::uint32_t kSeveral = ~std::uint32_t{0};
  static bool is_split(std::uint32_t first) { return (first & kSplit) != 0; }

  struct Page {
    std::array<std::uint8_t, kGranules> starts{};
    std::array<std::uint32_t, kGranules> owner{};  // the thread that accesses it + 1; kSeveral
    std::array<std::uint8_t, kGranules> locals{};  // bytes that are ever a local's
    std::array<std::uint8_t, kGranules> alive{};   // bytes that are allocated now
    std::bitset<kGranules> managed;                // is ever allocated
    std::bitset<kGranules> marked;
    bool has_shared = false;
    // Number of the granule's first location, 0 if none yet; or kSplit and a place in split_.
    std::array<std::uint32_t, kGranules> first{};
  };

  static bool counts(const Page& page, unsigned index) {
    return page.owner[index] == kSeveral || page.marked.test(index);
  }

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

  template <class Visit>
  void visit_granule(Page& page, unsigned index, std::uint64_t granule, unsigned from, unsigned to,
                     Visit& visit) {
    const unsigned starts = page.starts[index] | 1u;
    if (page.first[index] == 0) {
      page.first[index] = static_cast<std::uint32_t>(addresses_.size());
      for (unsigned byte = 0; byte < 8; ++byte)
        if ((starts >> byte & 1) != 0) addresses_.push_back(Address(granule * 8 + byte));
    }
    each_segment(starts, from, to, [&](unsigned number, unsigned begin, unsigned end) {
      std::uint32_t location = page.first[index] + number;
      if (is_split(page.first[index])) {
        std::uint32_t& own = split_[page.first[index] & ~kSplit][number];
        if (own == 0) own = static_cast<std::uint32_t>(extra(Address(granule * 8 + begin)).value());
        location = own;
      }
      visit(ObjectId(location), Address(granule * 8 + begin), end - begin);
    });
  }

  template <class Function>
  void for_granules(Address address, std::uint64_t size, bool make, Function&& function) {
    const std::uint64_t end = address.value() + std::min(size, ~std::uint64_t{0} - address.value());
    // A mapping may be far larger than what is known of it.
    if (!make && size / kPageBytes > pages_.size()) {
      for (std::uint64_t number : known_pages(address.value(), end)) {
        const std::uint64_t from = std::max(address.value(), number * kPageBytes);
        const std::uint64_t to = std::min(end, (number + 1) * kPageBytes);
        for_granules(Address(from), to - from, make, function);
      }
      return;
    }
    for (std::uint64_t at = address.value(); at < end;) {
      Page* const page = find(at / kPageBytes, make);
      if (page == nullptr) {
        at = (at / kPageBytes + 1) * kPageBytes;
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
  // The numbers of those between two addresses, in order.
  std::vector<std::uint64_t> known_pages(std::uint64_t from, std::uint64_t to) const;
  static void touch(Page& page, unsigned index, ThreadId thread);
  void fresh(Page& page, unsigned index, unsigned from, unsigned to);
  // The same locations, one by one.
  std::uint32_t split(std::uint32_t first);

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  Page* last_ = nullptr;
  struct LargeEnd {
    Address address;
    std::uint64_t size = 0;
    ThreadId thread;
  };
  std::vector<LargeEnd> large_ends_;                    // first pass: of mappings; seen to when all is noted
  std::map<std::uint64_t, std::uint64_t> allocations_;  // first pass: begin and end of what is ever allocated
  std::vector<std::array<std::uint32_t, 8>> split_;     // locations by segment, 0 if none yet
  std::vector<std::uint32_t> unused_;                   // places in split_
  std::vector<Address> addresses_ = {Address(0)};       // location 0 is none
};

}  // namespace deadheat::replay
