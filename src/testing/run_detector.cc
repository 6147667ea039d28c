#include "testing/run_detector.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "testing/trace_builder.h"

namespace deadheat::testing {
namespace {

[[noreturn]] void give_up(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

}  // namespace

std::uint64_t Outcome::counter(std::string_view stage, std::string_view name) const {
  for (const auto& [stage_name, counters] : statistics) {
    if (stage_name != stage) continue;
    for (const auto& [counter_name, value] : counters) {
      if (counter_name == name) return value;
    }
  }
  give_up("no counter '" + std::string(name) + "' of '" + std::string(stage) + "'");
}

EventPairs Outcome::event_pairs() const {
  EventPairs pairs;
  for (const detect::Race& race : races) pairs.emplace(race.first.index.index(), race.second.index.index());
  return pairs;
}

SitePairs Outcome::site_pairs() const {
  SitePairs pairs;
  for (const detect::Race& race : races) {
    const std::uint32_t a = race.first.event.site.value();
    const std::uint32_t b = race.second.event.site.value();
    pairs.emplace(std::min(a, b), std::max(a, b));
  }
  return pairs;
}

std::map<std::uint64_t, std::size_t> Outcome::first_per_location() const {
  std::map<std::uint64_t, std::size_t> first;
  for (const detect::Race& race : races) first.emplace(race.object().value(), race.second.index.index());
  return first;
}

Outcome run_detector(std::string_view spec, const Trace& trace, const detect::Options& options) {
  detect::RaceList list;
  Result<detect::Pipeline> pipeline =
      detect::make_pipeline(spec, detect::StageContext{&trace.names, &list, options, {}});
  if (!pipeline.ok()) give_up(pipeline.error().message);
  pipeline->on_batch(EventIndex(0), trace.events);
  pipeline->finish();
  if (Status status = pipeline->status(); !status.ok())
    give_up(status.error().message + "\n" + to_text(trace));
  for (const detect::Race& race : list.races) {
    const Event& a = trace.events.at(race.first.index.index());
    const Event& b = trace.events.at(race.second.index.index());
    const Event& c = race.first.event;
    const bool same = a.kind == c.kind && a.thread == c.thread && a.object == c.object && a.site == c.site;
    if (!same || !(b == race.second.event) || race.second.index <= race.first.index) {
      give_up("a race that does not say what its events are\n" + to_text(trace));
    }
  }
  return Outcome{std::move(list.races), pipeline->statistics()};
}

}  // namespace deadheat::testing
