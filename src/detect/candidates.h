// Which pairs of accesses are worth deciding, and in what order.
//
// A finding is a pair of places, so candidates come in *units*, one per pair of places: as soon as one pair
// of a unit is shown to race, the rest of it is settled. Accesses that nothing in the search can tell apart
// but by their position (one version of a location, thread, place, kind and set of held locks) form a group,
// and whole groups are paired or dropped:
//  - same thread, or two reads: no conflict;
//  - a common lock: never both next;
//  - ordered by the clocks of the causal model (causal_model.h): for one access and another group the
//  unordered ones are an
//    interval of it, found by bisection; the nearest come first.
// What is left goes to cut.h and order_search.h. Cost: the accesses, and groups x groups per location.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "detect/causal_model.h"

namespace deadheat::detect {

struct CandidateUnit {
  SiteId first, second;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> groups;
};

class Candidates {
 public:
  explicit Candidates(const CausalModel& model);

  const std::vector<CandidateUnit>& units() const { return units_; }
  // Calls `decide(a, b)` for the pairs of the unit until it returns false.
  void for_each_pair(const CandidateUnit& unit, const std::function<bool(Node, Node)>& decide) const;

  // Conflicting pairs of accesses that were dropped because of a common lock.
  std::uint64_t dropped_by_locks() const { return dropped_by_locks_; }

 private:
  struct Group {
    std::uint32_t thread = 0;
    SiteId site;
    bool writes = false;
    std::uint32_t lockset = 0;
    std::vector<Node> accesses;
  };
  std::uint32_t lockset_of(Node access);
  bool share_a_lock(std::uint32_t one, std::uint32_t other) const;

  const CausalModel& model_;
  std::vector<std::vector<std::uint32_t>> locksets_;
  std::vector<Group> groups_;
  std::vector<CandidateUnit> units_;
  std::uint64_t dropped_by_locks_ = 0;
};

}  // namespace deadheat::detect
