#include "testing/hidden_parts.h"

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <utility>

#include "base/check.h"
#include "detect/predictor.h"
#include "testing/explorer.h"
#include "testing/trace_builder.h"
#include "trace/checker.h"

namespace deadheat::testing {
namespace {

using Pairs = std::set<std::pair<std::uint64_t, std::uint64_t>>;

class Hider {
 public:
  Hider(const Trace& complete, std::uint64_t seed) : complete_(complete), random_(seed) {}

  IncompleteTrace run() {
    result_.trace.names = complete_.names;
    function_ = result_.trace.names.functions.intern("missing");
    const std::size_t threads = complete_.names.threads.size();
    std::vector<std::vector<std::uint64_t>> events(threads);
    std::vector<double> start(threads, -1), end(threads, static_cast<double>(complete_.events.size()));
    for (std::uint64_t i = 0; i < complete_.events.size(); ++i) {
      const Event& event = complete_.events[i];
      events[event.thread.index()].push_back(i);
      double now = static_cast<double>(i);
      if (event.kind == EventKind::kFork) start[event.object.index()] = now;
      if (event.kind == EventKind::kJoin)
        end[event.object.index()] = std::min(end[event.object.index()], now);
    }
    for (std::size_t t = 0; t < threads; ++t) hide_in(events[t], start[t], end[t]);
    // Two at the same time are of two threads.
    std::sort(items_.begin(), items_.end(), [](const Item& one, const Item& two) {
      return std::pair(one.time, one.event.thread) < std::pair(two.time, two.event.thread);
    });
    for (const Item& item : items_) {
      result_.trace.events.push_back(item.event);
      result_.original.push_back(item.original);
    }
    return std::move(result_);
  }

 private:
  struct Item {
    double time;
    Event event;
    std::uint64_t original;
  };

  int below(std::size_t bound) { return static_cast<int>(random_() % bound); }
  bool chance(int percent) { return below(100) < percent; }
  double between(double one, double two) { return one + (two - one) * (1 + below(97)) / 99.0; }

  void call(double time, EventKind kind, ThreadId thread, std::uint64_t set = 0) {
    Event event;
    event.kind = kind;
    event.thread = thread;
    event.object = ObjectId(function_);
    event.value = set;
    event.site = SiteId(result_.trace.names.sites.intern("call"));
    items_.push_back({time, event, IncompleteTrace::kNotThere});
  }

  // `events` of one thread, which lives between `start` and `end`.
  void hide_in(const std::vector<std::uint64_t>& events, double start, double end) {
    double last = start;  // when the thread did something visible
    for (std::size_t i = 0; i < events.size();) {
      const auto now = static_cast<double>(events[i]);
      if (!chance(25)) {
        items_.push_back({now, complete_.events[events[i]], events[i]});
        last = now;
        ++i;
        continue;
      }
      const ThreadId thread = complete_.events[events[i]].thread;
      const double entered = between(last, now);
      const std::size_t length = 1 + static_cast<std::size_t>(below(3));
      std::vector<ObjectId> members;
      bool has_ended = false;
      double latest = now;
      for (std::size_t k = 0; k < length && i < events.size(); ++k, ++i) {
        const Event& event = complete_.events[events[i]];
        latest = static_cast<double>(events[i]);
        has_ended |= event.kind == EventKind::kEnd;
        if (chance(20)) {
          items_.push_back({latest, event, events[i]});
          continue;
        }
        ++result_.hidden;
        if (std::string_view name = complete_.names.object(event); !name.empty())
          members.push_back(ObjectId(result_.trace.names.locations.intern(name)));
      }
      if (chance(30)) {
        members.push_back(ObjectId(static_cast<std::uint64_t>(below(result_.trace.names.locations.size()))));
      }
      call(entered, EventKind::kEnter, thread, result_.trace.names.reachable.intern(members));
      if (has_ended || (i == events.size() && chance(50))) break;
      last = between(latest, i < events.size() ? static_cast<double>(events[i]) : end);
      call(last, EventKind::kLeave, thread);
    }
  }

  const Trace& complete_;
  std::mt19937_64 random_;
  IncompleteTrace result_;
  std::vector<Item> items_;
  std::uint32_t function_ = 0;
};

Pairs predicted(const Trace& trace, bool barriers) {
  detect::Options options;
  options.solver_seconds = 600;
  Result<detect::Prediction> prediction =
      detect::predict(trace.events, trace.names, options, {.barriers = barriers, .all_pairs = true});
  Pairs pairs;
  for (const detect::PredictedRace& race : prediction->races) pairs.insert({race.first, race.second});
  return pairs;
}

}  // namespace

IncompleteTrace hide_parts(const Trace& complete, std::uint64_t seed) { return Hider(complete, seed).run(); }

std::string HiddenComparison::summary() const {
  return std::to_string(traces) + " traces, " + std::to_string(hidden) + " events hidden, " +
         std::to_string(possible) + " races possible, rdit: " + std::to_string(found) + " found, " +
         std::to_string(wrong) + " wrong, " + std::to_string(different) +
         " different from the explorer; mcm: " + std::to_string(found_by_mcm) + " found, " +
         std::to_string(wrong_by_mcm) + " wrong";
}

void HiddenComparison::add(const HiddenComparison& other) {
  traces += other.traces;
  hidden += other.hidden;
  possible += other.possible;
  found += other.found;
  wrong += other.wrong;
  different += other.different;
  found_by_mcm += other.found_by_mcm;
  wrong_by_mcm += other.wrong_by_mcm;
  if (first_wrong.empty()) first_wrong = other.first_wrong;
}

HiddenComparison compare_with_hidden_parts(const SmallTraceShape& shape, std::uint64_t first_seed,
                                           std::uint64_t count) {
  HiddenComparison result;
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    const Trace complete = small_trace(seed, shape);
    const IncompleteTrace incomplete = hide_parts(complete, seed);
    const Trace& trace = incomplete.trace;
    const Exploration truth = explore(complete, {.max_states = 300'000});
    if (!truth.complete || incomplete.hidden == 0) continue;
    const std::string text = "seed " + std::to_string(seed) + ", complete:\n" + to_text(complete) +
                             "with hidden parts:\n" + to_text(trace);
    auto note = [&](const std::string& what) {
      if (result.first_wrong.empty()) result.first_wrong = text + what;
    };
    TraceChecker checker(trace.names);
    for (std::uint64_t i = 0; i < trace.events.size(); ++i) {
      if (auto wrong = checker.on_event(EventIndex(i), trace.events[i])) {
        ++result.wrong;
        note("event " + std::to_string(i) + " is refused: " + *wrong);
        break;
      }
    }
    auto is_true = [&](std::pair<std::uint64_t, std::uint64_t> race) {
      std::uint64_t one = incomplete.original[race.first], two = incomplete.original[race.second];
      return truth.races.contains({std::min(one, two), std::max(one, two)});
    };
    ++result.traces;
    result.hidden += incomplete.hidden;
    std::set<std::uint64_t> visible(incomplete.original.begin(), incomplete.original.end());
    for (auto [one, two] : truth.races) result.possible += visible.contains(one) && visible.contains(two);
    const Pairs found = predicted(trace, true);
    result.found += found.size();
    for (auto race : found) {
      if (is_true(race)) continue;
      ++result.wrong;
      note("no race: (" + std::to_string(race.first) + "," + std::to_string(race.second) + ")");
    }
    const Exploration own = explore(trace, {.barriers = true, .max_states = 300'000});
    if (own.complete && own.races != found) {
      ++result.different;
      note("differs from the explorer: " + std::to_string(found.size()) + " races found, " +
           std::to_string(own.races.size()) + " expected");
    }
    for (auto race : predicted(trace, false)) {
      ++result.found_by_mcm;
      result.wrong_by_mcm += !is_true(race);
    }
  }
  return result;
}

const std::vector<HiddenShape>& hidden_shapes() {
  static const std::vector<HiddenShape> shapes = {
      {"same write", {.max_events = 14, .max_locks = 0}},
      {"values", {.max_events = 14, .max_locks = 0, .values = 0.8}},
      {"few values", {.max_events = 14, .max_locks = 0, .max_locations = 2, .writes = 0.4, .values = 0.35}},
      {"branches", {.max_events = 14, .max_locks = 0, .values = 0.5, .branches = true}},
      {"joins", {.min_events = 8, .max_events = 16, .max_locks = 0, .values = 0.3, .joins = true}},
      {"joins, few writes",
       {.min_events = 8,
        .max_events = 16,
        .max_locks = 0,
        .max_locations = 2,
        .writes = 0.35,
        .joins = true,
        .messages = false}},
      {"churn",
       {.min_events = 8,
        .max_events = 16,
        .max_threads = 6,
        .max_locks = 0,
        .max_locations = 2,
        .writes = 0.7,
        .joins = true,
        .churn = true}},
      {"locks", {.min_events = 8, .max_events = 17, .max_threads = 3, .writes = 0.7, .sections = true}},
      {"one lock",
       {.min_events = 10,
        .max_events = 18,
        .max_threads = 3,
        .max_locks = 1,
        .max_locations = 2,
        .writes = 0.7,
        .sections = true,
        .messages = false}},
      {"locks, values", {.min_events = 8, .max_events = 16, .values = 0.7, .sections = true}},
      {"locks, branches",
       {.min_events = 8,
        .max_events = 16,
        .max_threads = 3,
        .values = 0.5,
        .sections = true,
        .branches = true}},
      {"locks, joins",
       {.min_events = 10,
        .max_events = 18,
        .max_locks = 1,
        .max_locations = 2,
        .writes = 0.7,
        .sections = true,
        .joins = true}},
  };
  return shapes;
}

}  // namespace deadheat::testing
