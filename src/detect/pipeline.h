// Detectors and filters composed by name: `spans|fasttrack`.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "detect/detector.h"
#include "trace/trace.h"

namespace deadheat::detect {

// Which accesses a filter in front of this detector may drop without changing what the detector promises; see
// spans.h.
enum class DropRule {
  kNothing,   // the detector needs the whole trace
  kReads,     // reads that see the same write again
  kSection,   // same site, no synchronisation in between
  kLockset,   // a repeated access, with the same locks, to which nothing else came in between
  kSite,      // same site, in the same span
  kLocation,  // in the same span
};

struct DetectorInfo {
  std::string_view name;
  std::string_view guarantee;  // one line, for help
  bool is_filter = false;
  bool whole_trace = false;  // collects the events and works in finish()
  DropRule drop_rule = DropRule::kNothing;
  // May `tree` stand before it? Only where an access that is not seen cannot make a report wrong, but at most
  // lose one: not before detectors that conclude something from what a thread has read or touched.
  bool after_tree = false;
  bool shows_witness = false;  // which the trace has to be read again for
  std::unique_ptr<Stage> (*make)(StageContext context, DropRule behind) = nullptr;
};

// Every registered detector and filter, in the order of the documentation.
std::span<const DetectorInfo> all_detectors();
const DetectorInfo* find_detector(std::string_view name);

// Is one reading of the trace enough for it? False for what is no pipeline.
bool needs_one_reading(std::string_view spec);

// A chain of filters that ends in a detector.
class Pipeline {
 public:
  void on_event(EventIndex index, const Event& event) {
    if (event.is_atomic && !stages_.front()->sees_atomics()) return;
    stages_.front()->on_event(index, event);
  }
  void on_batch(EventIndex first, std::span<const Event> events) { stages_.front()->on_batch(first, events); }
  void finish();
  // The first failure of any stage; a stage that holds more memory than it may has failed.
  Status status() const;
  // What all its stages hold, roughly.
  std::uint64_t memory_bytes() const;
  // Ends it, and frees what it holds; what it has found so far counts.
  void give_up(const Error& why) {
    given_up_ = "gave up: " + why.message;
    last_statistics_ = statistics();
    stages_.clear();
  }
  bool has_given_up() const { return !given_up_.empty(); }
  // Per stage: its name and its counters.
  std::vector<std::pair<std::string, Statistics>> statistics() const;
  // Why the result is not all that the last stage promises; empty if it is.
  std::string incomplete() const { return given_up_.empty() ? stages_.back()->incomplete() : given_up_; }
  const std::string& spec() const { return spec_; }
  bool whole_trace() const { return whole_trace_; }

 private:
  friend Result<Pipeline> make_pipeline(std::string_view, const StageContext&);
  std::string spec_;
  bool whole_trace_ = false;
  std::uint64_t memory_bytes_ = 0;
  std::string given_up_;
  std::vector<std::pair<std::string, Statistics>> last_statistics_;  // when it gave up
  std::vector<std::unique_ptr<Stage>> stages_;
};

// `spec` is stage names joined by `|`, the last one a detector, the others filters. `context.name` is
// ignored.
Result<Pipeline> make_pipeline(std::string_view spec, const StageContext& context);

// Reads the source once through all pipelines and finishes them; stops early, without an error, when
// `options.cancelled`. Returns the
// number of events read. A pipeline that fails gives up; only if all do, that is an error. `on_batch(events
// so far)` is called now and then, for progress.
Result<std::uint64_t> run_pipelines(TraceSource& source, std::span<Pipeline> pipelines,
                                    const Options& options = {},
                                    const std::function<void(std::uint64_t)>& on_batch = nullptr);

// What the `cut` of a race says: how many events of each thread run before the two accesses, by thread. Of
// a thread that is over it may say more than there are: all of them.
std::vector<std::uint64_t> events_before(const Race& race);

// Sets the witnesses of races that have only a `cut`: reads the trace again, once, from its start.
Status expand_witnesses(TraceSource& source, std::span<Race* const> races);

}  // namespace deadheat::detect
