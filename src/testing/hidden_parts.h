// Traces with missing parts whose truth is known: parts of complete traces are hidden.
//
// A detector for incomplete traces sees only what is left, with calls around the hidden events that name the
// objects they are about; whatever it reports must be a race of the complete trace, by the explorer. This
// knows nothing of how missing code is modelled: neither acts nor any rule about them. So it finds what is
// wrong with the model itself, where a comparison with the explorer of that model finds only what is wrong
// with its implementation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "testing/small_traces.h"
#include "trace/trace.h"

namespace deadheat::testing {

struct IncompleteTrace {
  Trace trace;
  std::vector<std::uint64_t> original;  // event of the complete trace; kNotThere for enter and leave
  std::uint64_t hidden = 0;             // events
  static constexpr std::uint64_t kNotThere = UINT64_MAX;
};

// Hides random parts of each thread. Calls begin and end anywhere between the neighbouring events of their
// thread; some events in them stay visible, as those of call-backs; a thread that ends in a call may never
// leave it.
IncompleteTrace hide_parts(const Trace& complete, std::uint64_t seed);

struct HiddenComparison {
  std::uint64_t traces = 0;
  std::uint64_t hidden = 0;        // events
  std::uint64_t possible = 0;      // races of the complete traces between events that are still visible
  std::uint64_t found = 0;         // races that rdit reports
  std::uint64_t wrong = 0;         // of these: not of the complete trace
  std::uint64_t different = 0;     // traces where rdit differs from the explorer of its own definition
  std::uint64_t found_by_mcm = 0;  // which takes what it sees for all there is
  std::uint64_t wrong_by_mcm = 0;
  std::string first_wrong;  // the traces, what was expected and found

  std::string summary() const;
  void add(const HiddenComparison& other);
};

HiddenComparison compare_with_hidden_parts(const SmallTraceShape& shape, std::uint64_t first_seed,
                                           std::uint64_t count);

// The shapes of complete traces that tests and `make test-oracle` go through.
struct HiddenShape {
  const char* name;
  SmallTraceShape shape;
};
const std::vector<HiddenShape>& hidden_shapes();

}  // namespace deadheat::testing
