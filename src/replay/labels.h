// Data-flow labels: what a value was computed from.
//
// A *source* is something an analysis wants to follow, mostly one read of memory (observer.h, source_of). A
// label is a set of sources; a value's label says which of them it may depend on. There are as many labels as
// different sets have come up, and a label is the number of its set: two values with one label depend on the
// same sources, and joining two labels that were joined before is one look-up.
//
// A set of more than kMost sources is no longer kept apart: its label is `kMany`, which may depend on
// everything. So a label never promises less than it should, and a sum over a million followed reads costs no
// million sets of up to a million. Whoever follows few reads never sees it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/strong_id.h"

namespace deadheat::replay {

using Source = StrongId<struct SourceTag, std::uint32_t>;
// 0: depends on no source.
using Label = StrongId<struct LabelTag, std::uint32_t>;

class Labels {
 public:
  static constexpr std::size_t kMost = 256;
  static constexpr Label kMany{1};

  Labels();

  // A source that is no other one, and the label of it alone.
  Source add_source();
  Label label_of(Source source) const { return alone_[source.index()]; }

  Label join(Label a, Label b) {
    if (a == b || b == Label()) return a;
    return a == Label() ? b : join_unequal(a, b);
  }

  // May a value with this label depend on `source`?
  bool contains(Label label, Source source) const;
  // All sources of a label, in the order they were added. REQUIRES: not kMany.
  std::span<const Source> sources_of(Label label) const { return sets_[label.index()]; }
  std::size_t size() const { return sets_.size(); }  // labels that there are

 private:
  Label join_unequal(Label a, Label b);
  Label intern(std::vector<Source> set);

  std::vector<std::vector<Source>> sets_;  // sorted
  std::map<std::vector<Source>, Label> known_;
  std::unordered_map<std::uint64_t, Label> joined_;  // by the lower and the higher of two labels
  std::vector<Label> alone_;
};

}  // namespace deadheat::replay
