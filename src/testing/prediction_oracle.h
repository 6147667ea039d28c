// Compares prediction with the schedule explorer on random small traces, pair of events by pair of events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "testing/small_traces.h"

namespace deadheat::testing {

struct OracleComparison {
  std::uint64_t traces = 0;
  std::uint64_t skipped = 0;  // too many states for the explorer
  std::uint64_t states = 0;   // visited by the explorer
  std::uint64_t races = 0;    // pairs of events, by the explorer
  std::uint64_t pairs = 0;    // decided by the predictor
  std::uint64_t solved = 0;   // of them with the solver
  std::uint64_t undecided = 0;
  std::uint64_t rejected = 0;  // witnesses that the checker did not accept
  std::uint64_t different = 0;
  std::string first_difference;  // the trace, what was expected and found

  std::string summary() const;
  void add(const OracleComparison& other);
};

// `barriers`: rdit and its definition; otherwise mcm.
OracleComparison compare_with_oracle(const SmallTraceShape& shape, bool barriers, std::uint64_t first_seed,
                                     std::uint64_t count);

// The shapes that tests and `make test-oracle` go through.
struct NamedShape {
  const char* name;
  bool barriers;
  SmallTraceShape shape;
};
const std::vector<NamedShape>& oracle_shapes();

}  // namespace deadheat::testing
