#include "replay/live/memory.h"

#include <algorithm>
#include <vector>

namespace deadheat::replay::live {

namespace {
constexpr std::uint64_t kPage = MemoryImage::kPageBytes;
}

void Memory::allocated(Address address, std::uint64_t size, bool is_live) {
  // What was there before is gone, and no longer freed memory.
  auto at = blocks_.upper_bound(address.value());
  if (at != blocks_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second.size > address.value() || before->first == address.value())
      at = before;
  }
  while (at != blocks_.end() && at->first < address.value() + std::max<std::uint64_t>(size, 1))
    at = blocks_.erase(at);
  blocks_[address.value()] = Block{size, false, is_live, SiteId()};
  mappings_.forget(address, size);
}

void Memory::usable(Address address, std::uint64_t size) {
  if (const auto block = blocks_.find(address.value()); block != blocks_.end())
    block->second.size = std::max(block->second.size, size);
}

void Memory::mapped(Address address, std::uint64_t size, bool is_zero) {
  image_.forget(address, size);
  mappings_.map(address, size);
  // Of something larger a program uses a part, and which one nobody knows yet.
  constexpr std::uint64_t kMost = 64 << 20;
  const std::vector<std::uint8_t> zeros(kPage);
  for (std::uint64_t at = 0; is_zero && size <= kMost && at < size; at += kPage)
    image_.write(Address(address.value() + at), std::span(zeros).first(std::min(kPage, size - at)));
}

void Memory::unmapped(Address address, std::uint64_t size) {
  image_.forget(address, size);
  mappings_.unmap(address, size);
}

void Memory::freed(Address address, SiteId site) {
  const auto found = blocks_.find(address.value());
  if (found == blocks_.end()) return;
  found->second.is_freed = true;
  found->second.freed_at = site;
  const std::uint64_t end = address.value() + found->second.size;
  // Far larger than anything that is looked at piece by piece: its ends must do.
  const std::uint64_t step = std::max<std::uint64_t>(kPage, found->second.size / 65536 / kPage * kPage);
  for (std::uint64_t page = address.value() / kPage * kPage; page < end; page += step)
    pages_with_freed_.insert(page / kPage);
}

const Block* Memory::block_at(Address address) const {
  const auto found = blocks_.find(address.value());
  return found == blocks_.end() ? nullptr : &found->second;
}

std::optional<std::pair<Address, Block>> Memory::block_around(Address address) const {
  auto after = blocks_.upper_bound(address.value());
  if (after == blocks_.begin()) return std::nullopt;
  --after;
  if (address.value() - after->first >= after->second.size) return std::nullopt;
  return std::pair(Address(after->first), after->second);
}

bool Memory::is_freed(Address address, std::uint64_t size) const {
  if (pages_with_freed_.empty()) return false;
  const std::uint64_t last = address.value() + size - 1;
  if (!pages_with_freed_.contains(address.value() / kPage) && !pages_with_freed_.contains(last / kPage))
    return false;
  const auto block = block_around(address);
  if (block && block->second.is_freed) return true;
  const auto end = block_around(Address(last));
  return end && end->second.is_freed;
}

Address Memory::allocate(std::uint64_t size, std::uint64_t alignment) {
  // A gap behind each, so that running over the end of one is not the next one's business.
  alignment = std::max<std::uint64_t>(alignment, 16);
  const std::uint64_t start = (next_heap_ + alignment - 1) & ~(alignment - 1);
  next_heap_ = start + ((size + 63) & ~std::uint64_t{31});
  allocated(Address(start), size, true);
  return Address(start);
}

Address Memory::reserve(std::uint64_t size) {
  const std::uint64_t start = (next_heap_ + kPage - 1) & ~(kPage - 1);
  next_heap_ = start + size + kPage;
  return Address(start);
}

Address Memory::allocate_static(std::uint64_t size) {
  const Address start(next_static_);
  next_static_ += (size + 127) & ~std::uint64_t{63};  // declarations have no size
  return start;
}

std::pair<std::uint64_t, std::uint8_t> Memory::word_at(std::uint64_t address) const {
  std::uint8_t bytes[8] = {};
  std::uint8_t known = 0;
  if (image_.read(Address(address), std::span(bytes)) == 8) {
    known = 0xff;
  } else {
    for (unsigned i = 0; i < 8; ++i)
      if (image_.is_known(Address(address + i))) known |= static_cast<std::uint8_t>(1u << i);
  }
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
  return {value, known};
}

void Memory::note(std::uint64_t address, std::uint64_t size) {
  if (address >= kStacksStart && address < kStaticStart) return;  // locals
  for (std::uint64_t word = address & ~std::uint64_t{7}; word < address + size; word += 8)
    if (!before_.contains(word)) before_.emplace(word, word_at(word));
}

void Memory::zero(Address address, std::uint64_t size) {
  const std::vector<std::uint8_t> zeros(std::min<std::uint64_t>(size, 1 << 20));
  for (std::uint64_t at = 0; at < size; at += zeros.size())
    store(Address(address.value() + at),
          std::span(zeros).first(std::min<std::uint64_t>(zeros.size(), size - at)));
}

void Memory::store(Address address, std::span<const std::uint8_t> bytes) {
  note(address.value(), bytes.size());
  image_.write(address, bytes);
}

void Memory::store(Address address, std::uint64_t value, std::uint32_t size) {
  note(address.value(), size);
  image_.write(address, value, size);
}

void Memory::copy(Address to, Address from, std::uint64_t size) {
  if (size == 0 || to == from) return;
  note(to.value(), size);
  // In pieces whose bytes are known or unknown together; from a copy, because the two may overlap.
  std::vector<std::uint8_t> bytes(size);
  std::vector<bool> known(size, true);
  if (image_.read(from, std::span(bytes)) != size)
    for (std::uint64_t i = 0; i < size; ++i) known[i] = image_.is_known(Address(from.value() + i));
  for (std::uint64_t i = 0; i < size;) {
    std::uint64_t end = i + 1;
    while (end < size && known[end] == known[i]) ++end;
    if (known[i])
      image_.write(Address(to.value() + i), std::span(bytes).subspan(i, end - i));
    else
      image_.forget(Address(to.value() + i), end - i);
    i = end;
  }
}

bool Memory::is_plausible(Address address) const {
  if (address.value() < 65536 || address.value() >= std::uint64_t{1} << 47) return false;
  return (address.value() >= kHeapStart && address.value() < kLimit) || image_.has_page(address) ||
         mappings_.is_mapped(address) || block_around(address).has_value();
}

std::vector<Memory::Change> Memory::changes() const {
  std::vector<Change> all;
  for (const auto& [address, before] : before_) {
    if (is_freed(Address(address), 8)) continue;
    const auto [after, known] = word_at(address);
    if (after != before.first || known != before.second)
      all.push_back({Address(address), before.first, after, before.second, known});
  }
  return all;
}

}  // namespace deadheat::replay::live
