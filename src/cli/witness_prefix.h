// A witness that is a part of the run's own order, said in a few words: so many events of each thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "detect/pipeline.h"
#include "report/finding.h"

namespace deadheat::cli {

// `name_of(ThreadId)`: a std::string. Nothing for a race whose witness is spelt out, or that needs none.
template <class NameOf>
std::vector<report::Prefix> witness_prefix(const detect::Race& race, const NameOf& name_of) {
  std::vector<report::Prefix> prefixes;
  if (!race.witness.empty() || race.cut.empty()) return prefixes;
  const std::vector<std::uint64_t> before = detect::events_before(race);
  for (std::uint32_t thread = 0; thread < before.size(); thread++) {
    if (before[thread] > 0) prefixes.push_back({name_of(ThreadId(thread)), before[thread]});
  }
  // The two accesses may be the first events of all.
  if (prefixes.empty()) prefixes.push_back({name_of(race.first.event.thread), 0});
  return prefixes;
}

}  // namespace deadheat::cli
