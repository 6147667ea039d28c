// Predicts the races of a whole trace: what `mcm` and `rdit` have in common.
//
// Candidates (candidates.h) are decided (order_search.h) by several threads at a time; each witness is
// replayed by the independent checker (witness_checker.h) before it counts. Nothing limits what can be found
// but the time and memory that the user gives: a candidate first gets a short turn, and what was left
// undecided gets longer turns while time remains. What is undecided at the end is counted.
//
// Time counts from the start of predict(), the building of the model and of the candidates included, and
// every step looks at it (budget.h): when it is over, or the user says stop, what was found until then is the
// result.
//
// With enough time the result does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "detect/detector.h"
#include "trace/event.h"
#include "trace/names.h"

namespace deadheat::detect {

// How long a user waits, in seconds, after the end of the time for being told how much was left.
inline constexpr double kGrace = 0.3;

struct PredictedRace {
  std::uint64_t first = 0, second = 0;  // positions in the events
  std::vector<std::uint64_t> witness;   // positions in the events, ends with the two
  // Instead of a witness that is a part of the trace in its order, where all of them together would take too
  // much memory: how many events of each thread it has.
  std::vector<std::uint64_t> cut;
};

struct Prediction {
  std::vector<PredictedRace> races;  // one for each pair of places, in the order of the trace
  Statistics statistics;
  std::uint64_t undecided = 0;  // pairs of places without a race of which not everything could be decided
  bool model_built = true;      // false: there was no time to decide anything
  bool all_listed = true;       // false: there may be more undecided pairs of places than were counted
  bool complete = true;         // nothing is undecided and nobody cancelled
};

struct PredictorOptions {
  bool barriers = false;   // calls into missing code act (rdit)
  bool all_pairs = false;  // decide every pair of events instead of one race per pair of places: for tests
  std::uint64_t witness_events = std::uint64_t{1} << 20;  // in all witnesses, before cuts take their place
};

// An error if the trace needs more memory than the options allow.
Result<Prediction> predict(std::span<const Event> events, const Names& names, const Options& options,
                           const PredictorOptions& predictor = {});

}  // namespace deadheat::detect
