// What a detector is: a stage that sees events one by one and reports races.
//
// A new detector is one header, one .cc, one test, one line in pipeline.cc and one row in docs/detectors.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/strong_id.h"
#include "detect/thread_slots.h"
#include "trace/event.h"
#include "trace/names.h"

namespace deadheat::detect {

struct RacyEvent {
  EventIndex index;
  Event event;  // `value` and `line` may be missing on the earlier event of a streaming detector
};

struct Race {
  RacyEvent first;  // the earlier one in the trace
  RacyEvent second;
  // A predicted race: event numbers in the order that shows it, ending with the two events. Empty for races
  // of the observed order, and where `cut` says the same in less space.
  std::vector<EventIndex> witness;
  // A predicted race whose witness is a part of the trace, in its order, in less space: each thread runs up
  // to what its slot's clock says here (without slots: so many events of each thread). expand_witnesses()
  // turns it into `witness`.
  std::vector<std::uint64_t> cut;
  std::shared_ptr<const ThreadSlots> slots;
  std::string_view detector;

  ObjectId object() const { return second.event.object; }
};

class RaceSink {
 public:
  virtual ~RaceSink() = default;
  virtual void on_race(Race race) = 0;
};

// For tests and for callers that want them all.
class RaceList final : public RaceSink {
 public:
  void on_race(Race race) override { races.push_back(std::move(race)); }
  std::vector<Race> races;
};

struct Options {
  double solver_seconds = 60;  // wall time for all solver work of one detector
  std::uint64_t memory_bytes = std::uint64_t{8}
                               << 30;            // what one stage may use before it stops with an error
  int jobs = 1;                                  // threads for solvers
  const std::atomic<bool>* cancelled = nullptr;  // set by Ctrl-C; a stage then ends soon with what it has
  std::function<void(double)>
      progress;  // between 0 and 1, from finish() of whole-trace detectors; negative while they prepare

  bool is_cancelled() const { return cancelled != nullptr && cancelled->load(std::memory_order_relaxed); }
};

// One number per rule of the algorithm, so that tests and users can ask which rule fired how often.
using Statistics = std::vector<std::pair<std::string, std::uint64_t>>;

// What a stage is given when it is made. All pointers outlive it.
struct StageContext {
  const Names* names = nullptr;  // grows while events arrive
  RaceSink* sink = nullptr;
  Options options;
  std::string_view name;  // as in the table of pipeline.cc
};

// A stage of a pipeline: sees events in trace order. `index` is the event's number in the whole trace,
// whatever earlier stages have dropped.
class Stage {
 public:
  explicit Stage(StageContext context) : context_(std::move(context)) {}
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  virtual void on_event(EventIndex, const Event&) {}
  // Neighbouring events of the trace, `first` being the number of the first. For the stage that reads from
  // the source.
  virtual void on_batch(EventIndex first, std::span<const Event> events) {
    for (std::size_t i = 0; i < events.size(); ++i) on_event(EventIndex(first.value() + i), events[i]);
  }
  // After the last event, or after cancellation. Whole-trace detectors do their work here.
  virtual void finish() {}
  virtual Statistics statistics() const { return {}; }
  // Why the result is not all that the detector promises; empty if it is.
  virtual std::string incomplete() const { return {}; }
  // What the stage holds, roughly; a pipeline stops with an error when it exceeds Options::memory_bytes.
  virtual std::uint64_t memory_bytes() const { return 0; }

  // Does it know that two atomic accesses never race? Others are not shown atomic accesses at all.
  virtual bool sees_atomics() const { return false; }

  std::string_view name() const { return context_.name; }
  // The first thing that went wrong. A failed stage ignores further events.
  const std::optional<Error>& failure() const { return failure_; }

 protected:
  void report(RacyEvent first, RacyEvent second, std::vector<EventIndex> witness = {},
              std::vector<std::uint64_t> cut = {}, std::shared_ptr<const ThreadSlots> slots = nullptr) {
    context_.sink->on_race(
        Race{first, second, std::move(witness), std::move(cut), std::move(slots), context_.name});
  }
  void fail(std::string message) {
    if (!failure_) failure_ = Error{std::move(message)};
  }
  // A detector that no longer knows what a thread knew at its end must not guess.
  void give_up_on(ThreadId forgotten) {
    fail(
        std::string(name()) + ": thread '" + std::string(names().thread(forgotten)) +
        "': expected its second join soon after the first, or by a thread that knows of the first, found one "
        "so late that what the thread knew at its end is forgotten");
  }
  const Names& names() const { return *context_.names; }
  const Options& options() const { return context_.options; }

 private:
  StageContext context_;
  std::optional<Error> failure_;
};

// A stage that passes on the events it does not drop.
class Filter : public Stage {
 public:
  using Stage::Stage;
  void set_next(Stage* next) { next_ = next; }

 protected:
  void pass(EventIndex index, const Event& event) { next_->on_event(index, event); }

 private:
  Stage* next_ = nullptr;
};

}  // namespace deadheat::detect
