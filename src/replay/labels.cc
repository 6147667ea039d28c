#include "replay/labels.h"

#include <algorithm>
#include <iterator>

namespace deadheat::replay {

Labels::Labels() : sets_(2) { known_[{}] = Label(); }  // none, and kMany

Source Labels::add_source() {
  const Source source(static_cast<std::uint32_t>(alone_.size()));
  alone_.push_back(intern({source}));
  return source;
}

Label Labels::intern(std::vector<Source> set) {
  if (set.size() > kMost) return kMany;
  const auto [known, is_new] =
      known_.try_emplace(std::move(set), Label(static_cast<std::uint32_t>(sets_.size())));
  if (is_new) sets_.push_back(known->first);
  return known->second;
}

Label Labels::join_unequal(Label a, Label b) {
  if (a == kMany || b == kMany) return kMany;
  if (b < a) std::swap(a, b);
  const auto [known, is_new] = joined_.try_emplace(std::uint64_t{a.value()} << 32 | b.value(), Label());
  if (!is_new) return known->second;
  std::vector<Source> both;
  std::ranges::set_union(sets_[a.index()], sets_[b.index()], std::back_inserter(both));
  return known->second = intern(std::move(both));
}

bool Labels::contains(Label label, Source source) const {
  return label == kMany || std::ranges::binary_search(sets_[label.index()], source);
}

}  // namespace deadheat::replay
