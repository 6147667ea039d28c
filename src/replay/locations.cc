#include "replay/locations.h"

namespace deadheat::replay {

namespace {

std::uint8_t bytes_between(unsigned from, unsigned to) {
  return static_cast<std::uint8_t>((0xffu >> (8 - (to - from))) << from);
}

}  // namespace

Locations::Page* Locations::find(std::uint64_t number, bool make) {
  if (number == last_number_) return last_;
  auto found = pages_.find(number);
  if (found == pages_.end()) {
    if (!make) return nullptr;
    found = pages_.emplace(number, std::make_unique<Page>()).first;
  }
  last_number_ = number;
  last_ = found->second.get();
  return last_;
}

std::vector<std::uint64_t> Locations::known_pages(std::uint64_t from, std::uint64_t to) const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, page] : pages_)
    if ((number + 1) * kPageBytes > from && number * kPageBytes < to) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// --- First pass

void Locations::note(Address address, std::uint64_t size, ThreadId thread) {
  for_granules(address, size, /*make=*/true,
               [&](Page& page, unsigned index, std::uint64_t, unsigned from, unsigned to) {
                 page.starts[index] |= static_cast<std::uint8_t>(1u << from);
                 if (to != 8) page.starts[index] |= static_cast<std::uint8_t>(1u << to);
                 touch(page, index, thread);
               });
}

void Locations::touch(Page& page, unsigned index, ThreadId thread) {
  std::uint32_t& owner = page.owner[index];
  if (owner == thread.value() + 1 || owner == kSeveral) return;
  owner = owner == 0 ? thread.value() + 1 : kSeveral;
  page.has_shared |= owner == kSeveral;
}

void Locations::note_end(Address address, std::uint64_t size, ThreadId thread) {
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 16;
  if (size >= kLarge) {
    large_ends_.push_back({address, size, thread});
    return;
  }
  for_granules(
      address, size, /*make=*/true,
      [&](Page& page, unsigned index, std::uint64_t, unsigned, unsigned) { touch(page, index, thread); });
}

void Locations::note_local(Address address, std::uint64_t size) {
  for_granules(address, size, /*make=*/true,
               [&](Page& page, unsigned index, std::uint64_t, unsigned from, unsigned to) {
                 page.starts[index] |= static_cast<std::uint8_t>(1u << from);
                 if (to != 8) page.starts[index] |= static_cast<std::uint8_t>(1u << to);
                 page.locals[index] |= bytes_between(from, to);
                 page.managed.set(index);
               });
}

void Locations::note_allocation(Address address, std::uint64_t size) {
  // Blocks lie side by side with an allocator's words between them: what is between them is nobody's.
  constexpr std::uint64_t kGap = 64;
  std::uint64_t begin = address.value();
  std::uint64_t end = begin + std::min(size, ~std::uint64_t{0} - begin);
  auto at = allocations_.upper_bound(begin);
  if (at != allocations_.begin()) {
    const auto before = std::prev(at);
    if (before->second + kGap >= begin) {
      if (before->second >= end) return;
      begin = before->first;
      at = before;
    }
  }
  while (at != allocations_.end() && at->first <= end + kGap) {
    end = std::max(end, at->second);
    at = allocations_.erase(at);
  }
  allocations_[begin] = end;
}

void Locations::restart() {
  for (const LargeEnd& end : large_ends_)
    for_granules(end.address, end.size, /*make=*/false,
                 [&](Page& page, unsigned index, std::uint64_t, unsigned, unsigned) {
                   if (page.owner[index] != 0) touch(page, index, end.thread);
                 });
  large_ends_.clear();
  for (const auto& [begin, end] : allocations_)
    for_granules(
        Address(begin), end - begin, /*make=*/false,
        [](Page& page, unsigned index, std::uint64_t, unsigned, unsigned) { page.managed.set(index); });
  allocations_.clear();
  for (auto& [number, page] : pages_) {
    page->first.fill(0);
    page->alive.fill(0);
  }
  addresses_.assign(1, Address(0));
  split_.clear();
  unused_.clear();
}

// --- Further passes

bool Locations::is_shared(Address address, std::uint64_t size) {
  const std::uint64_t end = address.value() + size;
  for (std::uint64_t at = address.value(); at < end;) {
    const std::uint64_t next = (at / kPageBytes + 1) * kPageBytes;
    const Page* const page = find(at / kPageBytes, false);
    if (page != nullptr && page->has_shared)
      for (std::uint64_t granule = at / 8; granule * 8 < std::min(next, end); ++granule)
        if (counts(*page, granule % kGranules)) return true;
    at = next;
  }
  return false;
}

void Locations::mark(Address address, std::uint64_t size) {
  for_granules(address, size, /*make=*/false,
               [](Page& page, unsigned index, std::uint64_t, unsigned, unsigned) {
                 page.marked.set(index);
                 page.has_shared = true;
               });
}

bool Locations::is_touched_by_others(Address address, std::uint64_t size, ThreadId thread) {
  bool is_touched = false;
  for_granules(address, size, /*make=*/false,
               [&](Page& page, unsigned index, std::uint64_t, unsigned, unsigned) {
                 is_touched |= page.owner[index] != 0 && page.owner[index] != thread.value() + 1;
               });
  return is_touched;
}

bool Locations::is_there(Address address) {
  const Page* const page = find(address.value() / kPageBytes, false);
  if (page == nullptr) return true;
  const unsigned index = address.value() / 8 % kGranules;
  return !page->managed.test(index) || (page->alive[index] >> (address.value() % 8) & 1) != 0;
}

void Locations::born(Address address, std::uint64_t size, bool is_stack) {
  for_granules(address, size, /*make=*/false,
               [&](Page& page, unsigned index, std::uint64_t, unsigned from, unsigned to) {
                 fresh(page, index, from, to);
                 std::uint8_t bytes = bytes_between(from, to);
                 if (is_stack) bytes &= static_cast<std::uint8_t>(~page.locals[index]);
                 page.alive[index] |= bytes;
               });
}

void Locations::died(Address address, std::uint64_t size) {
  for_granules(address, size, /*make=*/false,
               [&](Page& page, unsigned index, std::uint64_t, unsigned from, unsigned to) {
                 page.alive[index] &= static_cast<std::uint8_t>(~bytes_between(from, to));
               });
}

void Locations::fresh(Page& page, unsigned index, unsigned from, unsigned to) {
  std::uint32_t& first = page.first[index];
  if (first == 0) return;
  if (from == 0 && to == 8) {
    if (is_split(first)) unused_.push_back(first & ~kSplit);
    first = 0;
    return;
  }
  if (!is_split(first)) first = split(first);
  each_segment(page.starts[index] | 1u, from, to,
               [&](unsigned number, unsigned, unsigned) { split_[first & ~kSplit][number] = 0; });
}

std::uint32_t Locations::split(std::uint32_t first) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(split_.size()));
    split_.emplace_back();
  }
  const std::uint32_t place = unused_.back();
  unused_.pop_back();
  for (unsigned number = 0; number < 8; ++number) split_[place][number] = first + number;
  return kSplit | place;
}

}  // namespace deadheat::replay
