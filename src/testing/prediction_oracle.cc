#include "testing/prediction_oracle.h"

#include <set>

#include "detect/predictor.h"
#include "testing/explorer.h"
#include "testing/trace_builder.h"

namespace deadheat::testing {
namespace {

using Pairs = std::set<std::pair<std::uint64_t, std::uint64_t>>;

std::string to_string(const Pairs& pairs) {
  std::string text;
  for (auto [first, second] : pairs)
    text += " (" + std::to_string(first) + "," + std::to_string(second) + ")";
  return text.empty() ? " none" : text;
}

}  // namespace

std::string OracleComparison::summary() const {
  return std::to_string(traces) + " traces, " + std::to_string(states) + " states explored, " +
         std::to_string(pairs) + " pairs decided (" + std::to_string(solved) + " by the solver), " +
         std::to_string(races) + " races, " + std::to_string(different) + " different, " +
         std::to_string(undecided) + " undecided, " + std::to_string(rejected) + " witnesses rejected, " +
         std::to_string(skipped) + " traces skipped";
}

void OracleComparison::add(const OracleComparison& other) {
  traces += other.traces;
  skipped += other.skipped;
  states += other.states;
  races += other.races;
  pairs += other.pairs;
  solved += other.solved;
  undecided += other.undecided;
  rejected += other.rejected;
  different += other.different;
  if (first_difference.empty()) first_difference = other.first_difference;
}

OracleComparison compare_with_oracle(const SmallTraceShape& shape, bool barriers, std::uint64_t first_seed,
                                     std::uint64_t count) {
  OracleComparison result;
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    Trace trace = small_trace(seed, shape);
    Exploration truth = explore(trace, {.barriers = barriers, .max_states = 300'000});
    if (!truth.complete) {
      ++result.skipped;
      continue;
    }
    detect::Options options;
    options.solver_seconds = 600;
    Result<detect::Prediction> prediction =
        detect::predict(trace.events, trace.names, options, {.barriers = barriers, .all_pairs = true});
    Pairs found;
    for (const detect::PredictedRace& race : prediction->races) found.insert({race.first, race.second});
    ++result.traces;
    result.states += truth.states;
    result.races += truth.races.size();
    result.undecided += prediction->undecided;
    for (const auto& [name, value] : prediction->statistics) {
      if (name == "pairs_decided") result.pairs += value;
      if (name == "given_to_solver") result.solved += value;
      if (name == "witnesses_rejected") result.rejected += value;
    }
    if (found == truth.races) continue;
    if (result.different++ == 0) {
      result.first_difference = "seed " + std::to_string(seed) + (barriers ? " (rdit)" : " (mcm)") + "\n" +
                                to_text(trace) + "expected:" + to_string(truth.races) +
                                "\nfound:   " + to_string(found);
    }
  }
  return result;
}

const std::vector<NamedShape>& oracle_shapes() {
  static const std::vector<NamedShape> shapes = {
      {"same write", false, {}},
      {"values", false, {.values = 1}},
      {"some values", false, {.values = 0.6}},
      // One of a write and its reads says the value for all of them.
      {"few values",
       false,
       {.min_events = 8,
        .max_events = 15,
        .max_threads = 3,
        .max_locks = 1,
        .max_locations = 2,
        .writes = 0.4,
        .values = 0.35}},
      {"branches", false, {.branches = true}},
      {"values and branches", false, {.values = 1, .branches = true}},
      {"branches, no locks",
       false,
       {.min_events = 8,
        .max_events = 15,
        .max_threads = 3,
        .max_locks = 0,
        .values = 0.9,
        .branches = true}},
      {"joins", false, {.min_events = 8, .max_events = 15, .max_locks = 1, .values = 0.5, .joins = true}},
      // Threads that are started after others were joined share their chains.
      {"threads one after another",
       false,
       {.min_events = 10,
        .max_events = 17,
        .max_threads = 6,
        .max_locks = 1,
        .max_locations = 2,
        .values = 0.3,
        .joins = true,
        .messages = false}},
      {"threads one after another, branches",
       false,
       {.min_events = 10,
        .max_events = 17,
        .max_threads = 6,
        .max_locks = 1,
        .max_locations = 2,
        .values = 0.5,
        .branches = true,
        .joins = true,
        .messages = false}},
      {"churn",
       false,
       {.min_events = 8,
        .max_events = 16,
        .max_threads = 6,
        .max_locks = 1,
        .max_locations = 2,
        .writes = 0.7,
        .values = 0.3,
        .joins = true,
        .churn = true}},
      {"sections", false, {.min_events = 10, .max_events = 18, .max_locations = 4, .sections = true}},
      {"sections, few reads", false, {.min_events = 10, .max_events = 18, .writes = 0.85, .sections = true}},
      {"sections, values", false, {.min_events = 10, .max_events = 18, .values = 1, .sections = true}},
      {"sections, branches",
       false,
       {.min_events = 10, .max_events = 18, .values = 0.5, .sections = true, .branches = true}},
      {"three locks",
       false,
       {.min_events = 12,
        .max_events = 20,
        .max_threads = 3,
        .max_locks = 3,
        .writes = 0.7,
        .sections = true}},
      {"two threads, values", false, {.min_events = 10, .max_events = 18, .max_threads = 2, .values = 0.9}},
      {"barriers", true, {.max_events = 12, .barriers = true}},
      {"barriers and sections", true, {.max_events = 15, .writes = 0.7, .sections = true, .barriers = true}},
      {"barriers and joins", true, {.max_events = 14, .values = 0.3, .joins = true, .barriers = true}},
      {"barriers and churn",
       true,
       {.min_events = 8,
        .max_events = 14,
        .max_threads = 5,
        .max_locks = 1,
        .max_locations = 2,
        .writes = 0.7,
        .joins = true,
        .churn = true,
        .barriers = true}},
      {"barriers and values", true, {.max_events = 12, .values = 0.8, .barriers = true}},
      {"barriers and few values",
       true,
       {.min_events = 8,
        .max_events = 13,
        .max_locations = 2,
        .writes = 0.4,
        .values = 0.4,
        .barriers = true}},
      {"barriers and branches", true, {.max_events = 12, .branches = true, .barriers = true}},
      {"barriers, values, branches",
       true,
       {.max_events = 12, .values = 0.8, .branches = true, .barriers = true}},
      {"barriers and threads", true, {.max_events = 13, .barriers = true, .calls_on_threads = true}},
      {"barriers, threads, joins, values",
       true,
       {.max_events = 14, .values = 0.4, .joins = true, .barriers = true, .calls_on_threads = true}},
      {"barriers, threads, branches",
       true,
       {.max_events = 13, .values = 0.5, .branches = true, .barriers = true, .calls_on_threads = true}},
      {"barriers and locks",
       true,
       {.min_events = 8,
        .max_events = 15,
        .writes = 0.7,
        .sections = true,
        .barriers = true,
        .calls_on_locks = true}},
      {"barriers, locks, values, branches",
       true,
       {.min_events = 8,
        .max_events = 15,
        .values = 0.5,
        .sections = true,
        .branches = true,
        .barriers = true,
        .calls_on_locks = true}},
      {"barriers, locks, threads",
       true,
       {.min_events = 8,
        .max_events = 15,
        .writes = 0.8,
        .sections = true,
        .joins = true,
        .barriers = true,
        .calls_on_threads = true,
        .calls_on_locks = true}},
  };
  return shapes;
}

}  // namespace deadheat::testing
