#include "replay/locations.h"

namespace deadheat::replay {

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

void Locations::note(Address address, std::uint64_t size) {
  const auto border = [&](std::uint64_t at) {
    Page* const page = find(at / (kGranules * 8), true);
    page->starts[at / 8 % kGranules] |= static_cast<std::uint8_t>(1u << (at % 8));
  };
  border(address.value());
  if ((address.value() + size) % 8 != 0) border(address.value() + size);
}

void Locations::restart() {
  for (auto& [number, page] : pages_) page->first.fill(0);
  addresses_.assign(1, Address(0));
  next_ = 1;
}

void Locations::fresh(Address address, std::uint64_t size) {
  for_granules(address, size, /*make=*/false,
               [](Page& page, unsigned index, std::uint64_t, unsigned, unsigned) { page.first[index] = 0; });
}

}  // namespace deadheat::replay
