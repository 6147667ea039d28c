// Which pairs of accesses are worth deciding, and in what order.
//
// A finding is a pair of places, so candidates come in *units*, one per pair of places: as soon as one pair
// of a unit is shown to race, the rest of it is settled. Accesses that nothing in the search can tell apart
// but by their position (one version of a location, thread, place, kind and set of held locks) form a group,
// and whole groups are paired or dropped:
//  - same thread, or two reads: no conflict;
//  - a common lock: never both next;
//  - ordered by the clocks of the causal model (causal_model.h): for one access and another group the
//    unordered ones are an interval of it, found by bisection; the nearest come first.
// What is left goes to cut.h and order_search.h.
//
// There can be millions of units (every pair of thousands of places), far more than a budget lets anybody
// decide. So they are never listed in advance: next_unit() finds those of one place at a time, and the groups
// of a unit are found again from its two places when they are wanted. Cost: the accesses to begin with; then,
// for a place, the groups of the locations it accesses.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "detect/budget.h"
#include "detect/causal_model.h"

namespace deadheat::detect {

// A pair of places; first <= second.
struct CandidateUnit {
  SiteId first, second;

  std::uint64_t key() const { return std::uint64_t{first.value()} << 32 | second.value(); }
  friend auto operator<=>(const CandidateUnit&, const CandidateUnit&) = default;
};

class Candidates {
 public:
  // When the budget is over first, there are no units: see is_built().
  Candidates(const CausalModel& model, const Budget& budget);
  bool is_built() const { return is_built_; }

  // The next unit; false when there is none, or when the watched budget is over. Not for use by several
  // threads at a time.
  bool next_unit(CandidateUnit& unit, BudgetWatch& watch);
  // Units that next_unit() has given so far.
  std::uint64_t units_seen() const { return units_seen_; }
  // Between 0 and 1: how many places next_unit() is through with.
  double progress() const;

  // Calls `decide(a, b)` for the pairs of the unit until it returns false; now and then `go_on()`, which may
  // end it as well. False if it was ended by either.
  bool for_each_pair(const CandidateUnit& unit, const std::function<bool(Node, Node)>& decide,
                     const std::function<bool()>& go_on) const;

  // Conflicting pairs of accesses that were dropped because of a common lock, among the units seen.
  std::uint64_t dropped_by_locks() const { return dropped_by_locks_; }

 private:
  struct Group {
    std::uint32_t version = 0;
    std::uint32_t thread = 0;
    SiteId site;
    bool writes = false;
    std::uint32_t lockset = 0;
    std::vector<Node> accesses;
  };
  void drop_if_locked(std::uint32_t begin);
  std::uint32_t lockset_of(Node access);
  bool share_a_lock(std::uint32_t one, std::uint32_t other) const;
  bool conflict(const Group& one, const Group& other) const {
    return one.thread != other.thread && (one.writes || other.writes);
  }
  bool find_partners(SiteId site, BudgetWatch& watch);
  bool pairs_of(const Group& one, const Group& other, const std::function<bool(Node, Node)>& decide,
                const std::function<bool()>& go_on) const;

  const CausalModel& model_;
  bool is_built_ = false;
  std::vector<std::vector<std::uint32_t>> locksets_;  // sorted
  std::unordered_multimap<std::uint64_t, std::uint32_t> lockset_ids_;
  std::uint32_t last_lockset_ = 0;
  std::vector<Group> groups_;                            // in the order of versions
  std::vector<std::uint32_t> version_begin_;             // of groups_
  std::vector<std::vector<std::uint32_t>> site_groups_;  // per place, in the order of versions
  std::size_t next_site_ = 0;
  std::vector<SiteId> partners_;  // of the place before next_site_: those not given yet
  SiteId of_;
  std::vector<std::uint32_t> marked_;   // per place: the last place whose partner it was, from 1
  std::vector<std::uint64_t> visited_;  // per place: the last place and version where it was found
  std::uint64_t visit_ = 0;
  std::vector<std::uint32_t> places_in_;  // per version: how many places access it
  std::uint64_t units_seen_ = 0;
  std::uint64_t dropped_by_locks_ = 0;
};

// Pairs of places with conflicting accesses of two threads, whatever else may be known of them: for saying
// how much was left when there was no time for a model. `all`: false if the budget was over before all were
// counted.
std::uint64_t count_pairs_of_places(std::span<const Event> events, const Budget& budget, bool& all);

}  // namespace deadheat::detect
