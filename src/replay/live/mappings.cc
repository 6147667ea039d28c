#include "replay/live/mappings.h"

#include <algorithm>

namespace deadheat::replay::live {

std::map<std::uint64_t, Mappings::Range>::const_iterator Mappings::find(std::uint64_t address) const {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return ranges_.end();
  --after;
  return address < after->second.end ? after : ranges_.end();
}

Mappings::State Mappings::state_of(Address address) const {
  const auto found = find(address.value());
  return found == ranges_.end() ? State::kUnknown : found->second.state;
}

void Mappings::set(Address address, std::uint64_t size, State state) {
  const std::uint64_t start = address.value();
  const std::uint64_t end = start + std::min(size, ~std::uint64_t{0} - start);
  if (start == end) return;
  // What lies across either border is cut there.
  for (const std::uint64_t border : {start, end}) {
    const auto across = find(border);
    if (across == ranges_.end() || across->first == border) continue;
    const Range right = across->second;
    ranges_[across->first].end = border;
    ranges_[border] = right;
  }
  ranges_.erase(ranges_.lower_bound(start), ranges_.lower_bound(end));
  if (state != State::kUnknown) ranges_[start] = {end, state};
}

bool Mappings::is_unmapped(Address address, std::uint64_t size) const {
  if (ranges_.empty() || size == 0) return false;
  return state_of(address) == State::kUnmapped ||
         state_of(Address(address.value() + size - 1)) == State::kUnmapped;
}

std::optional<std::pair<Address, std::uint64_t>> Mappings::around(Address address) const {
  const auto found = find(address.value());
  if (found == ranges_.end() || found->second.state != State::kMapped) return std::nullopt;
  return std::pair(Address(found->first), found->second.end - found->first);
}

}  // namespace deadheat::replay::live
