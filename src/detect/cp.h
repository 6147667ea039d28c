// `cp`: Causally-Precedes, as the baseline of the thesis on RDIT.
//
// Y. Smaragdakis, J. Evans, C. Sadowski, J. Yi, C. Flanagan: Sound predictive race detection in polynomial
// time, POPL 2012. CP weakens happens-before: two critical sections of one lock are ordered only if they
// contain conflicting accesses (rule a) or events that are already ordered by CP (rule b); and CP is closed
// under composition with happens-before on either side (rule c). Conflicting accesses ordered neither by CP
// nor by their threads, forks, joins and messages are a race.
//
// Promises, with the paper: if a trace has CP races, then the first of them is a race of some schedule, or
// the schedule deadlocks. Nothing is promised for later ones, and nothing is shown: there is no witness.
// Values, branches and BarrierPairs are ignored. `mcm` finds more, and all that it reports is true.
//
// Cost: the closure is quadratic in memory and worse in time, and no linear algorithm is known for it. Traces
// of more than kMaxEvents are refused, and when Options::solver_seconds are over before the closure is
// complete, or somebody says stop, nothing is reported: what is not ordered yet need not be unordered. Tested
// against the definition, applied literally, in cp_test.cc.
#pragma once

#include <string>
#include <vector>

#include "detect/detector.h"

namespace deadheat::detect {

class CausallyPrecedes final : public Stage {
 public:
  static constexpr std::size_t kMaxEvents = 10'000;

  using Stage::Stage;
  void on_event(EventIndex index, const Event& event) override;
  void finish() override;
  Statistics statistics() const override { return statistics_; }
  std::string incomplete() const override { return incomplete_; }

 private:
  std::vector<Event> events_;
  std::vector<EventIndex> indices_;
  Statistics statistics_;
  std::string incomplete_;
};

}  // namespace deadheat::detect
