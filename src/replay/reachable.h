// What invisible code can reach from its arguments: a conservative walk over the memory image, allocation by
// allocation.
//
// An allocation is a heap block, a mapping, a global variable or a local whose address the code uses. A word
// that points anywhere into one (or directly behind it) reaches all of it, and all that its words point to.
// Integers that look like addresses of one count as such: nothing is missed because of a cast. A pointer to
// memory that nobody is known to have allocated (thread-local storage, a library's own data) reaches the
// granule it points to. Code and constants are never written, and reach nothing.
//
// Words that no instrumented code has read or written (a library's own structures) cannot be followed. But
// what an invisible call allocates may hold all that the call could reach, and is linked to it. A library's
// own globals are not known: what it keeps there from one call for another is missed.
//
// Cost: of a call, the words of what it reaches that instrumented code has touched, up to kMaxBytes; beyond
// that everything counts as reachable.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "replay/memory_image.h"
#include "replay/observer.h"

namespace deadheat::replay {

class Program;

struct AllocationTag;
// Never reused: memory that is taken again is another allocation.
using AllocationId = StrongId<AllocationTag, std::uint64_t>;

struct Allocation {
  AllocationId id;
  Address base;
  std::uint64_t size = 0;
  bool is_constant = false;
};

struct Reach {
  std::vector<Allocation> allocations;  // in the order of their ids
  bool is_everything = false;           // it was too much to look at
};

// An observer: it keeps the image and the allocations. Of one replay.
class Reachable final : public Observer {
 public:
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 20;
  static constexpr std::size_t kMaxAllocations = 4096;

  explicit Reachable(const Program& program) : program_(&program) {}
  // Without globals, for tests.
  Reachable() = default;

  void on_access(const Access& access) override { image_.on_access(access); }
  void on_library_access(ThreadId thread, SiteId site, const recording::LibraryAccess& access) override {
    image_.on_library_access(thread, site, access);
  }
  void on_sequencer(ThreadId thread, SiteId site, const recording::Sequencer& sequencer) override;
  void on_local(ThreadId, SiteId, Address address, std::uint64_t size) override { add(address, size); }
  void on_local_end(ThreadId, SiteId, Address address, std::uint64_t) override { remove(address); }

  void add(Address address, std::uint64_t size, bool is_constant = false);
  void remove(Address address) { allocations_.erase(address.value()); }
  // Who reaches the one may reach the others.
  void link(const Allocation& from, std::span<const Allocation> to);
  // The allocation that begins there now, null if none.
  const Allocation* at(Address base) const {
    const auto found = allocations_.find(base.value());
    return found == allocations_.end() ? nullptr : &found->second;
  }
  MemoryImage& image() { return image_; }

  Reach from(std::span<const CallWord> arguments);

 private:
  const Allocation* find(std::uint64_t word);
  void take_globals();

  const Program* program_ = nullptr;
  MemoryImage image_;
  std::map<std::uint64_t, Allocation> allocations_;                   // by base; they do not overlap
  std::unordered_map<std::uint64_t, std::vector<Allocation>> links_;  // by id
  std::unordered_map<std::uint32_t, bool> starting_;  // threads whose last sequencer was their start
  std::vector<bool> taken_;                           // by instance: its globals are known
  std::uint64_t next_ = 1;
};

}  // namespace deadheat::replay
