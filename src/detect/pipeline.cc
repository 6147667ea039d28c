#include "detect/pipeline.h"

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "detect/cp.h"
#include "detect/fasttrack.h"
#include "detect/hb.h"
#include "detect/hybrid.h"
#include "detect/lockset.h"
#include "detect/mcm.h"
#include "detect/rdit.h"
#include "detect/shb.h"
#include "detect/spans_filter.h"
#include "detect/syncp.h"
#include "detect/tree_filter.h"
#include "detect/wcp.h"

namespace deadheat::detect {
namespace {

template <class S>
std::unique_ptr<Stage> make(StageContext context, DropRule behind) {
  if constexpr (std::is_constructible_v<S, StageContext, DropRule>) {
    return std::make_unique<S>(std::move(context), behind);
  } else {
    return std::make_unique<S>(std::move(context));
  }
}

// clang-format off: one detector a line.
// The one place that knows every detector. Columns: name, guarantee, filter?, whole trace?, what may be
// dropped before it, may `tree` come before it, witnesses?
constexpr DetectorInfo kDetectors[] = {
    {"fasttrack", "the first race of each location in the observed order; nothing else", false, false, DropRule::kLocation, true, false, make<FastTrack>},
    {"hb", "every pair of places with unordered accesses in the observed order; nothing else", false, false, DropRule::kSite, true, false, make<HappensBefore>},
    {"shb", "every pair of places with a race that some schedule shows, by schedulable happens-before; no false alarm", false, false, DropRule::kReads, false, false, make<SchedulableHappensBefore>},
    {"wcp", "every pair of places unordered by weak causal precedence; the first is a race or a deadlock of some schedule", false, false, DropRule::kSection, false, false, make<WeakCausalPrecedence>},
    {"syncp", "every pair of places with a race that keeps the order of critical sections; no false alarm", false, false, DropRule::kNothing, false, true, make<SyncPreserving>},
    {"lockset", "Eraser: locations that no lock always protects; may be false alarms", false, false, DropRule::kLockset, true, false, make<Lockset>},
    {"hybrid", "Helgrind+: locksets, reset by order through threads and messages; may be false alarms", false, false, DropRule::kLockset, true, false, make<Hybrid>},
    {"cp", "causally-precedes, on traces of at most 10,000 events; only its first race is known to be one", false, true, DropRule::kNothing, false, false, make<CausallyPrecedes>},
    {"mcm", "one race for every pair of places with a race in any schedule that the trace allows; nothing else", false, true, DropRule::kNothing, false, true, make<Mcm>},
    {"rdit", "as mcm, when parts of the program were not traced (enter, leave); nothing else", false, true, DropRule::kNothing, false, true, make<Rdit>},
    {"spans", "drops what cannot change what the detector behind it promises; exact", true, false, DropRule::kNothing, false, false, make<SpansFilter>},
    {"tree", "drops concurrentially equivalent accesses; may lose races; only before fasttrack, hb, lockset, hybrid", true, false, DropRule::kNothing, false, false, make<TreeFilter>},
};
// clang-format on

// "600 MiB", "12 KiB", "1000 bytes": the largest unit that still shows what it is.
std::string in_words(std::uint64_t bytes) {
  if (bytes >= std::uint64_t{10} << 20 || (bytes != 0 && bytes % (1 << 20) == 0))
    return std::to_string(bytes >> 20) + " MiB";
  if (bytes >= std::uint64_t{10} << 10) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes) + " bytes";
}

}  // namespace

std::span<const DetectorInfo> all_detectors() { return kDetectors; }

const DetectorInfo* find_detector(std::string_view name) {
  for (const DetectorInfo& info : kDetectors) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

bool needs_one_reading(std::string_view spec) {
  const DetectorInfo* info = find_detector(spec.substr(spec.rfind('|') + 1));
  return info != nullptr && !info->whole_trace && !info->shows_witness;
}

void Pipeline::finish() {
  for (const std::unique_ptr<Stage>& stage : stages_) stage->finish();
}

Status Pipeline::status() const {
  for (const std::unique_ptr<Stage>& stage : stages_) {
    if (stage->failure()) return *stage->failure();
    if (stage->memory_bytes() > memory_bytes_) {
      return Error{std::string(stage->name()) + ": expected state that fits " + in_words(memory_bytes_) +
                   ", found " + in_words(stage->memory_bytes())};
    }
  }
  return Nothing{};
}

std::uint64_t Pipeline::memory_bytes() const {
  std::uint64_t sum = 0;
  for (const std::unique_ptr<Stage>& stage : stages_) sum += stage->memory_bytes();
  return sum;
}

std::vector<std::pair<std::string, Statistics>> Pipeline::statistics() const {
  if (has_given_up() && stages_.empty()) return last_statistics_;
  std::vector<std::pair<std::string, Statistics>> result;
  for (const std::unique_ptr<Stage>& stage : stages_) {
    result.emplace_back(std::string(stage->name()), stage->statistics());
  }
  return result;
}

Result<Pipeline> make_pipeline(std::string_view spec, const StageContext& context) {
  std::vector<const DetectorInfo*> infos;
  std::string_view rest = spec;
  while (true) {
    const std::size_t bar = rest.find('|');
    const std::string_view name = rest.substr(0, bar);
    const DetectorInfo* info = find_detector(name);
    if (info == nullptr) {
      std::string known;
      for (const DetectorInfo& each : kDetectors)
        known += (known.empty() ? "" : ", ") + std::string(each.name);
      return Error{"detector '" + std::string(spec) + "': expected one of " + known + ", found '" +
                   std::string(name) + "'"};
    }
    const bool last = bar == std::string_view::npos;
    if (info->is_filter == last) {
      return Error{"detector '" + std::string(spec) + "': expected a " + (last ? "detector" : "filter") +
                   (last ? " at the end" : " before '|'") + ", found the " +
                   (last ? "filter '" : "detector '") + std::string(name) + "'"};
    }
    infos.push_back(info);
    if (last) break;
    rest.remove_prefix(bar + 1);
  }

  const bool has_tree =
      std::any_of(infos.begin(), infos.end(), [](const DetectorInfo* info) { return info->name == "tree"; });
  if (has_tree && !infos.back()->after_tree) {
    std::string allowed;
    for (const DetectorInfo& each : kDetectors) {
      if (each.after_tree) allowed += (allowed.empty() ? "" : ", ") + std::string(each.name);
    }
    return Error{"detector '" + std::string(spec) + "': expected one of " + allowed +
                 " behind 'tree', which drops accesses, found '" + std::string(infos.back()->name) +
                 "', which would report races that cannot happen"};
  }

  Pipeline pipeline;
  pipeline.spec_ = std::string(spec);
  pipeline.memory_bytes_ = context.options.memory_bytes;
  pipeline.whole_trace_ = infos.back()->whole_trace;
  for (const DetectorInfo* info : infos) {
    StageContext own = context;
    own.name = info->name;
    pipeline.stages_.push_back(info->make(std::move(own), infos.back()->drop_rule));
  }
  for (std::size_t i = 0; i + 1 < pipeline.stages_.size(); ++i) {
    static_cast<Filter&>(*pipeline.stages_[i]).set_next(pipeline.stages_[i + 1].get());
  }
  return pipeline;
}

Result<std::uint64_t> run_pipelines(TraceSource& source, std::span<Pipeline> pipelines,
                                    const Options& options,
                                    const std::function<void(std::uint64_t)>& on_batch) {
  constexpr std::size_t kBatch = 4096;
  constexpr std::uint32_t kManyThreads = 2000;
  std::vector<Event> events(kBatch);
  std::uint64_t position = 0;
  std::size_t at_work = pipelines.size();
  std::optional<Error> first_failure;
  auto give_up = [&](Pipeline& pipeline, const Error& why) {
    if (!first_failure) first_failure = why;
    pipeline.give_up(why);
    --at_work;
  };
  // Gives up what cannot go on. What the others find must not be lost because one cannot.
  auto look_at = [&](Pipeline& pipeline) {
    if (pipeline.has_given_up()) return;
    if (const Status status = pipeline.status(); !status.ok()) give_up(pipeline, status.error());
  };
  // They share the memory that one may use: when all together need more, the one that needs most gives up.
  auto look_at_all = [&] {
    while (at_work > 1) {
      std::uint64_t sum = 0;
      Pipeline* largest = nullptr;
      for (Pipeline& pipeline : pipelines) {
        if (pipeline.has_given_up()) continue;
        sum += pipeline.memory_bytes();
        if (largest == nullptr || pipeline.memory_bytes() > largest->memory_bytes()) largest = &pipeline;
      }
      if (sum <= options.memory_bytes) return;
      give_up(*largest, Error{largest->spec() + ": expected the state of all detectors to fit " +
                              in_words(options.memory_bytes) + ", found " + in_words(sum) + ", " +
                              in_words(largest->memory_bytes()) + " of them its own"});
    }
  };
  while (!options.is_cancelled()) {
    Result<std::size_t> got = source.read(events);
    // A stream that was interrupted may end in the middle of a line.
    if (!got.ok() && options.is_cancelled()) break;
    if (!got.ok()) return got.error();
    if (*got == 0) break;
    // With many threads a few events can ask for much memory: each may have a clock of every thread.
    const std::size_t step = source.names().threads.size() > kManyThreads ? kBatch / 16 : kBatch;
    for (Pipeline& pipeline : pipelines) {
      for (std::size_t i = 0; i < *got && !pipeline.has_given_up(); i += step) {
        pipeline.on_batch(EventIndex(position + i),
                          std::span<const Event>(events).subspan(i, std::min(step, *got - i)));
        look_at(pipeline);
        if (step < kBatch) look_at_all();
      }
    }
    look_at_all();
    position += *got;
    if (on_batch) on_batch(position);
    if (at_work == 0 && first_failure) return *first_failure;
  }
  for (Pipeline& pipeline : pipelines) {
    if (pipeline.has_given_up()) continue;
    pipeline.finish();
    look_at(pipeline);
  }
  if (at_work == 0 && first_failure) return *first_failure;
  return position;
}

std::vector<std::uint64_t> events_before(const Race& race) {
  if (!race.slots) return race.cut;
  std::vector<std::uint64_t> by_thread;
  race.slots->for_each_stay([&](ThreadId thread, Slot slot, Clock first) {
    if (slot.index() >= race.cut.size() || race.cut[slot.index()] <= first.value()) return;
    if (thread.index() >= by_thread.size()) by_thread.resize(thread.index() + 1);
    by_thread[thread.index()] += race.cut[slot.index()] - first.value();
  });
  return by_thread;
}

Status expand_witnesses(TraceSource& source, std::span<Race* const> races) {
  // Per race: how many events of each thread are still to come, and of all.
  struct Left {
    std::vector<std::uint64_t> by_thread;
    std::uint64_t all = 0;
  };
  std::vector<Left> lefts;
  std::uint64_t wanted = 0;
  for (Race* race : races) {
    Left left{events_before(*race), race->second.index.value()};
    wanted = std::max(wanted, left.all);
    race->witness.clear();
    lefts.push_back(std::move(left));
  }
  std::vector<Event> events(4096);
  for (std::uint64_t first = 0; first < wanted;) {
    Result<std::size_t> got = source.read(events);
    if (!got.ok()) return got.error();
    if (*got == 0) {
      return Error{"event " + std::to_string(wanted) + ": expected in the trace, found its end"};
    }
    for (std::size_t r = 0; r < races.size(); ++r) {
      std::vector<std::uint64_t>& left = lefts[r].by_thread;
      for (std::size_t i = 0; i < *got && first + i < lefts[r].all; ++i) {
        const std::size_t thread = events[i].thread.index();
        if (thread >= left.size() || left[thread] == 0) continue;
        --left[thread];
        races[r]->witness.push_back(EventIndex(first + i));
      }
    }
    first += *got;
  }
  for (Race* race : races) {
    race->witness.push_back(race->first.index);
    race->witness.push_back(race->second.index);
  }
  return Nothing{};
}

}  // namespace deadheat::detect
