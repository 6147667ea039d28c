// The memory of a world that may go live: its bytes as far as they are known, and its blocks.
//
// While a recording is replayed, every load and store of every thread goes into the image, on top of what the
// program's globals start with; allocations and library calls say what is no longer known. In a live world
// loads are answered from it.
//
// Blocks: what malloc and its kin gave out, in the replay and in the live world. Freed ones are remembered,
// so that a use after free is noticed; the live world's own blocks are never given out twice, and neither is
// memory that the recorded program had.
#pragma once

#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

#include "replay/live/mappings.h"
#include "replay/memory_image.h"

namespace deadheat::replay::live {

struct Block {
  std::uint64_t size = 0;
  bool is_freed = false;
  bool is_live = false;  // given out by the live world
  SiteId freed_at;
};

// What stands in uninitialised memory of the live world.
inline constexpr std::uint8_t kFreshByte = 0xbe;

class Memory {
 public:
  // Where live worlds put what they allocate: no recorded program has anything there.
  static constexpr std::uint64_t kHeapStart = 0x6d00'0000'0000;
  static constexpr std::uint64_t kStacksStart = 0x6e00'0000'0000;
  static constexpr std::uint64_t kStackBytes = 8 << 20;
  static constexpr std::uint64_t kStaticStart =
      0x6f00'0000'0000;  // handles, thread-locals, globals nobody saw
  static constexpr std::uint64_t kLimit = 0x7000'0000'0000;

  MemoryImage& image() { return image_; }
  const MemoryImage& image() const { return image_; }

  // --- Blocks
  void allocated(Address address, std::uint64_t size, bool is_live);
  // The block that starts there is that large.
  void usable(Address address, std::uint64_t size);
  void freed(Address address, SiteId site);
  // The block that starts there, freed or not.
  const Block* block_at(Address address) const;
  // The block around an address, with its start.
  std::optional<std::pair<Address, Block>> block_around(Address address) const;
  bool is_freed(Address address, std::uint64_t size) const;

  // --- What the program maps by itself. `is_zero`: its bytes are 0 then.
  void mapped(Address address, std::uint64_t size, bool is_zero);
  void unmapped(Address address, std::uint64_t size);
  const Mappings& mappings() const { return mappings_; }

  // --- The live world
  // A new block; its bytes are kFreshByte. `alignment` is a power of two.
  Address allocate(std::uint64_t size, std::uint64_t alignment = 16);
  Address allocate_static(std::uint64_t size);
  // Addresses for a mapping, whole pages.
  Address reserve(std::uint64_t size);
  void zero(Address address, std::uint64_t size);  // as a store
  // Writes with a note of what was there before the world went live.
  void store(Address address, std::span<const std::uint8_t> bytes);
  void store(Address address, std::uint64_t value, std::uint32_t size);
  // Copies what is known, forgets what is not.
  void copy(Address to, Address from, std::uint64_t size);
  // Has anybody been there?
  bool is_plausible(Address address) const;

  // Words (of 8 bytes) that are not what they were when the world went live, locals and freed blocks left
  // out; in the order of their addresses.
  struct Change {
    Address address;
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    std::uint8_t known_before = 0;  // a bit per byte
    std::uint8_t known_after = 0;
  };
  std::vector<Change> changes() const;

 private:
  void note(std::uint64_t address, std::uint64_t size);
  std::pair<std::uint64_t, std::uint8_t> word_at(std::uint64_t address) const;

  MemoryImage image_;
  std::map<std::uint64_t, Block> blocks_;
  std::unordered_set<std::uint64_t> pages_with_freed_;
  Mappings mappings_;
  std::uint64_t next_heap_ = kHeapStart;
  std::uint64_t next_static_ = kStaticStart;
  // By word: value and known bytes before the first change.
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint8_t>> before_;
};

}  // namespace deadheat::replay::live
