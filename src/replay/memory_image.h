// The recorded program's memory as far as a replay has seen it: what was stored, and what was loaded.
//
// An observer. At any moment of a replay (at a sequencer, say) it answers what is known to be at an address.
// Bytes that nobody touched, or that invisible code may have changed since, are unknown.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "replay/observer.h"

namespace deadheat::replay {

class MemoryImage : public Observer {
 public:
  static constexpr std::uint64_t kPageBytes = 4096;

  void on_access(const Access& access) override { write(access.address, access.value, access.size); }
  // A library wrote there: what, the log says when the program looks.
  void on_library_access(ThreadId, SiteId, const recording::LibraryAccess& access) override;
  void on_sequencer(ThreadId, SiteId, const recording::Sequencer& sequencer) override;

  void write(Address address, std::uint64_t value, std::uint32_t size);
  void write(Address address, std::span<const std::uint8_t> bytes);
  void forget(Address address, std::uint64_t size);

  bool is_known(Address address) const;
  // Copies what is known of `bytes`; returns how many bytes of it are. Unknown ones are left as they were.
  std::size_t read(Address address, std::span<std::uint8_t> bytes) const;
  // A number of 1 to 8 bytes, if all of it is known.
  std::optional<std::uint64_t> read(Address address, std::uint32_t size) const;

  // There is memory, whatever is in it.
  void touch(Address address) { page_of(address.value() / kPageBytes); }
  bool has_page(Address address) const { return find(address.value() / kPageBytes) != nullptr; }
  std::size_t pages() const { return pages_.size(); }
  std::uint64_t known_bytes() const;

 private:
  struct Page {
    std::array<std::uint8_t, kPageBytes> bytes{};
    std::bitset<kPageBytes> known;
  };

  Page& page_of(std::uint64_t number);
  const Page* find(std::uint64_t number) const;

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  // The page touched last: accesses come in runs.
  mutable std::uint64_t last_number_ = ~std::uint64_t{0};
  mutable Page* last_ = nullptr;
};

}  // namespace deadheat::replay
