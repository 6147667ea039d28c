#include "replay/memory_image.h"

#include <algorithm>

namespace deadheat::replay {

MemoryImage::Page& MemoryImage::page_of(std::uint64_t number) {
  if (number == last_number_) return *last_;
  std::unique_ptr<Page>& page = pages_[number];
  if (page == nullptr) page = std::make_unique<Page>();
  last_number_ = number;
  last_ = page.get();
  return *page;
}

const MemoryImage::Page* MemoryImage::find(std::uint64_t number) const {
  if (number == last_number_) return last_;
  const auto found = pages_.find(number);
  if (found == pages_.end()) return nullptr;
  last_number_ = number;
  last_ = found->second.get();
  return last_;
}

void MemoryImage::write(Address address, std::uint64_t value, std::uint32_t size) {
  std::uint8_t bytes[8];
  for (std::uint32_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(value >> (8 * i));
  write(address, std::span<const std::uint8_t>(bytes, size));
}

void MemoryImage::write(Address address, std::span<const std::uint8_t> bytes) {
  std::uint64_t at = address.value();
  while (!bytes.empty()) {
    const std::uint64_t start = at % kPageBytes;
    const std::size_t count = std::min<std::size_t>(bytes.size(), kPageBytes - start);
    Page& page = page_of(at / kPageBytes);
    std::copy_n(bytes.begin(), count, page.bytes.begin() + static_cast<std::ptrdiff_t>(start));
    for (std::size_t i = 0; i < count; ++i) page.known.set(start + i);
    bytes = bytes.subspan(count);
    at += count;
  }
}

void MemoryImage::forget(Address address, std::uint64_t size) {
  const std::uint64_t end = address.value() + std::min(size, ~std::uint64_t{0} - address.value());
  // A mapping may be far larger than what is known of it.
  if (size / kPageBytes > pages_.size()) {
    for (auto& [number, page] : pages_)
      for (std::uint64_t i = 0; i < kPageBytes; ++i)
        if (const std::uint64_t at = number * kPageBytes + i; at >= address.value() && at < end)
          page->known.reset(i);
    return;
  }
  for (std::uint64_t at = address.value(); at < end;) {
    const std::uint64_t start = at % kPageBytes;
    const std::uint64_t count = std::min(end - at, kPageBytes - start);
    if (const auto found = pages_.find(at / kPageBytes); found != pages_.end())
      for (std::uint64_t i = 0; i < count; ++i) found->second->known.reset(start + i);
    at += count;
  }
}

bool MemoryImage::is_known(Address address) const {
  const Page* const page = find(address.value() / kPageBytes);
  return page != nullptr && page->known.test(address.value() % kPageBytes);
}

std::size_t MemoryImage::read(Address address, std::span<std::uint8_t> bytes) const {
  std::size_t known = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint64_t at = address.value() + i;
    const Page* const page = find(at / kPageBytes);
    if (page == nullptr || !page->known.test(at % kPageBytes)) continue;
    bytes[i] = page->bytes[at % kPageBytes];
    ++known;
  }
  return known;
}

std::optional<std::uint64_t> MemoryImage::read(Address address, std::uint32_t size) const {
  std::uint8_t bytes[8] = {};
  if (read(address, std::span(bytes, size)) != size) return std::nullopt;
  std::uint64_t value = 0;
  for (std::uint32_t i = 0; i < size; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
  return value;
}

std::uint64_t MemoryImage::known_bytes() const {
  std::uint64_t count = 0;
  for (const auto& [number, page] : pages_) count += page->known.count();
  return count;
}

void MemoryImage::on_library_access(ThreadId, SiteId, const recording::LibraryAccess& access) {
  if (access.kind == recording::AccessKind::kWrite) forget(access.address, access.size);
}

void MemoryImage::on_sequencer(ThreadId, SiteId, const recording::Sequencer& sequencer) {
  switch (sequencer.kind) {
    case recording::SequencerKind::kAllocated:
    case recording::SequencerKind::kMapped:
    case recording::SequencerKind::kUnmapping:
      return forget(sequencer.object, sequencer.extra);
    default:
      return;
  }
}

}  // namespace deadheat::replay
