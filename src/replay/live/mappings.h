// Which memory the program had mapped by itself (mmap), and which it has given back.
//
// Ranges of addresses, each mapped or unmapped; what is in none was never anybody's as far as the recording
// says. Parts may be unmapped and mapped again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "recording/item.h"

namespace deadheat::replay::live {

using recording::Address;

class Mappings {
 public:
  void map(Address address, std::uint64_t size) { set(address, size, State::kMapped); }
  void unmap(Address address, std::uint64_t size) { set(address, size, State::kUnmapped); }
  // Somebody else has it now: the allocator.
  void forget(Address address, std::uint64_t size) { set(address, size, State::kUnknown); }

  bool is_mapped(Address address) const { return state_of(address) == State::kMapped; }
  // Is any byte of it unmapped?
  bool is_unmapped(Address address, std::uint64_t size) const;
  // The mapped range around an address: its start and size.
  std::optional<std::pair<Address, std::uint64_t>> around(Address address) const;

 private:
  enum class State : std::uint8_t { kUnknown, kMapped, kUnmapped };
  struct Range {
    std::uint64_t end;
    State state;
  };

  void set(Address address, std::uint64_t size, State state);
  State state_of(Address address) const;
  // The range that contains `address`, or end().
  std::map<std::uint64_t, Range>::const_iterator find(std::uint64_t address) const;

  std::map<std::uint64_t, Range> ranges_;  // by their start; they do not overlap
};

}  // namespace deadheat::replay::live
