// Runs a detector over a trace in memory, for tests.
#pragma once

#include <string_view>
#include <vector>

#include "detect/detector.h"
#include "detect/pipeline.h"
#include "testing/naive.h"
#include "trace/trace.h"

namespace deadheat::testing {

struct Outcome {
  std::vector<detect::Race> races;
  std::vector<std::pair<std::string, detect::Statistics>> statistics;

  // The counter of a stage; ends the test program if there is none of that name.
  std::uint64_t counter(std::string_view stage, std::string_view name) const;
  EventPairs event_pairs() const;
  SitePairs site_pairs() const;
  std::map<std::uint64_t, std::size_t> first_per_location() const;
};

// Ends the test program if `spec` is no pipeline or the pipeline fails.
Outcome run_detector(std::string_view spec, const Trace& trace, const detect::Options& options = {});

}  // namespace deadheat::testing
