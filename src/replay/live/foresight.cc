#include "replay/live/foresight.h"

#include <algorithm>
#include <cstring>

namespace deadheat::replay::live {

Foresight::Page& Foresight::page_of(std::uint64_t number) {
  std::unique_ptr<Page>& page = pages_[number];
  if (page == nullptr) page = std::make_unique<Page>();
  return *page;
}

void Foresight::on_access(const Access& access) {
  input_.on_access(access);
  for (std::uint32_t i = 0; i < access.size; ++i) {
    const Address at(access.address.value() + i);
    Page& page = page_of(at.value() / kPageBytes);
    const std::uint64_t in = at.value() % kPageBytes;
    if (page.is_settled[in]) continue;
    page.is_settled.set(in);
    if (access.is_write || image_.is_known(at)) continue;
    page.is_foreseen.set(in);
    page.bytes[in] = static_cast<std::uint8_t>(access.value >> (8 * i));
  }
}

void Foresight::settle(Address address, std::uint64_t size) {
  // More than that nobody looks at byte by byte; its pages would only take memory here.
  const std::uint64_t end = address.value() + std::min<std::uint64_t>(size, 64 << 20);
  for (std::uint64_t at = address.value(); at < end; ++at)
    page_of(at / kPageBytes).is_settled.set(at % kPageBytes);
}

void Foresight::on_library_access(ThreadId, SiteId, const recording::LibraryAccess& access) {
  if (access.kind != recording::AccessKind::kWrite) return;
  settle(access.address, access.size);
  input_.on_overwritten(access.address, access.size);
}

void Foresight::on_sequencer(ThreadId, SiteId, const recording::Sequencer& sequencer) {
  if (sequencer.kind == recording::SequencerKind::kAllocated ||
      sequencer.kind == recording::SequencerKind::kMapped) {
    settle(sequencer.object, sequencer.extra);
    input_.on_overwritten(sequencer.object, sequencer.extra);
  }
}

// The number of pages, those (number, a bit per byte that is foreseen, all its bytes), the input.
namespace {
constexpr std::size_t kEncoded = 8 + MemoryImage::kPageBytes / 8 + MemoryImage::kPageBytes;
}

std::string Foresight::encode() const {
  std::string told(8, '\0');
  std::uint64_t count = 0;
  for (const auto& [number, page] : pages_) {
    if (page->is_foreseen.none()) continue;
    std::string encoded(kEncoded, '\0');
    std::memcpy(encoded.data(), &number, 8);
    for (std::uint64_t i = 0; i < kPageBytes; ++i)
      if (page->is_foreseen[i]) encoded[8 + i / 8] |= static_cast<char>(1 << i % 8);
    std::memcpy(encoded.data() + 8 + kPageBytes / 8, page->bytes.data(), kPageBytes);
    told += encoded;
    ++count;
  }
  std::memcpy(told.data(), &count, 8);
  return told + input_.encode();
}

std::uint64_t Foresight::apply(std::string_view told, MemoryImage& image, Input& input) {
  std::uint64_t count = 0, pages = 0;
  if (told.size() < 8) return 0;
  std::memcpy(&pages, told.data(), 8);
  std::size_t at = 8;
  for (; pages != 0 && at + kEncoded <= told.size(); at += kEncoded, --pages) {
    std::uint64_t number = 0;
    std::memcpy(&number, told.data() + at, 8);
    for (std::uint64_t i = 0; i < kPageBytes; ++i) {
      if ((told[at + 8 + i / 8] >> i % 8 & 1) == 0) continue;
      const Address where(number * kPageBytes + i);
      if (image.is_known(where)) continue;
      image.write(where, static_cast<std::uint8_t>(told[at + 8 + kPageBytes / 8 + i]), 1);
      ++count;
    }
  }
  input = Input::decode(told.substr(at));
  return count;
}

}  // namespace deadheat::replay::live
