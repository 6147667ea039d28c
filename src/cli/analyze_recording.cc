#include "cli/analyze_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "cli/recording_findings.h"
#include "detect/pipeline.h"
#include "recording/reader.h"
#include "replay/barrier_pairs.h"
#include "replay/race_events.h"
#include "replay/world.h"
#include "report/collect.h"
#include "report/prose.h"
#include "trace/names.h"

namespace deadheat::cli {
namespace {

using replay::AccessOrigin;
using replay::Locations;
using replay::RaceEvents;
using replay::World;

class Analysis {
 public:
  Analysis(const RecordingAnalysis& request, const recording::Reader& reader, Progress& progress)
      : request_(request), reader_(reader), progress_(progress) {}

  Result<report::Report> run(triage::Suppressions& suppressions) {
    replay::Borders borders(locations_);
    report::Report report;
    if (Status pass = read(borders, report); !pass) return pass.error();
    if (Status pass = detect(borders, report); !pass) return pass.error();
    if (Status pass = look(borders, report, suppressions); !pass) return pass.error();
    describe(report);
    return report;
  }

 private:
  // One replay, observed.
  Status replay(const char* what, World& world, const std::vector<replay::Observer*>& observers) {
    for (replay::Observer* observer : observers) world.add(*observer);
    replay::RunOptions options;
    options.progress = [&](double fraction) { progress_.show(what, fraction); };
    Result<replay::Summary> summary = world.run(options);
    progress_.clear();
    if (!summary) return summary.error();
    if (summary->divergence) {
      const replay::Divergence& divergence = *summary->divergence;
      return Error{fmt::format("{}: the replay diverged in thread {}, region {}: {}; nothing was analysed",
                               request_.folder, divergence.thread.value(), divergence.region,
                               divergence.what)};
    }
    regions_ = 0;
    for (const replay::ThreadSummary& thread : summary->threads) regions_ += thread.regions;
    threads_ = summary->threads.size();
    return Nothing{};
  }

  // How memory is accessed, and whether there is code that can order what nobody sees.
  Status read(replay::Borders& borders, report::Report& report) {
    Result<std::unique_ptr<World>> world = World::open(reader_, replay::Variant::kObserved);
    if (!world) return world.error();
    replay::InvisibleCalls calls((*world)->program());
    if (Status pass = replay("reading", **world, {&borders, &calls}); !pass) return pass;
    detectors_ = request_.detectors;
    const auto asks_for = [&](const char* name) {
      return std::any_of(detectors_.begin(), detectors_.end(),
                         [&](const std::string& spec) { return spec.find(name) != std::string::npos; });
    };
    if (calls.unknown() != 0 && (detectors_.empty() || asks_for("rdit"))) {
      if (Status pass = reach(report); !pass) return pass;
    }
    if (detectors_.empty()) detectors_ = {"hb"};
    needs_names_ = asks_for("rdit") || asks_for("mcm") || asks_for("cp");
    return Nothing{};
  }

  // What invisible code can reach; and whether that matters. Everything but rdit takes such code for nothing,
  // and gives false alarms where it orders threads.
  Status reach(report::Report& report) {
    Result<std::unique_ptr<World>> world = World::open(reader_, replay::Variant::kObserved);
    if (!world) return world.error();
    locations_.restart();
    ReachableSets unused;
    replay::BarrierPairs pairs((*world)->program(), locations_, unused, [](const Event&) {});
    pairs.mark_reached();
    if (Status pass = replay("reading calls", **world, {&pairs}); !pass) return pass;
    report.statistics["invisible calls"] = std::to_string(pairs.calls());
    has_pairs_ = !detectors_.empty() || pairs.is_shared();
    if (pairs.unbounded() != 0 && has_pairs_)
      report.notes.push_back(
          fmt::format("{} calls into code that was not recorded can reach more than was "
                      "looked at: all memory counts as reachable there",
                      pairs.unbounded()));
    if (!detectors_.empty() || !pairs.is_shared()) return Nothing{};
    // The second one counts, unless there is too much for it.
    detectors_ = {"hb", "rdit"};
    is_chosen_ = true;
    return Nothing{};
  }

  Status detect(const replay::Borders& borders, report::Report& report) {
    lists_.resize(detectors_.size());
    for (std::size_t i = 0; i < detectors_.size(); ++i) {
      detect::StageContext context;
      context.names = &names_;
      context.sink = &lists_[i];
      context.options = request_.options;
      Result<detect::Pipeline> pipeline = detect::make_pipeline(detectors_[i], context);
      if (!pipeline) return pipeline.error();
      pipelines_.push_back(std::move(*pipeline));
    }
    Result<std::unique_ptr<World>> world = World::open(reader_, replay::Variant::kObserved);
    if (!world) return world.error();
    const auto deliver = [&](const Event& event) {
      for (detect::Pipeline& pipeline : pipelines_) pipeline.on_event(EventIndex(events_), event);
      // As for traces: a solver would take an hour to read more.
      constexpr std::uint64_t kLong = 5'000'000;
      if (++events_ == kLong && is_chosen_) pipelines_.pop_back();
    };
    Passage passage(*this, **world, borders,
                    [&](const Event& event, const AccessOrigin*) { deliver(event); });
    if (Status pass = replay("detecting", **world, passage.observers()); !pass) return pass;
    if (needs_names_) passage.events.name_all(names_);
    if (is_chosen_) choose(report);
    for (std::size_t i = 0; i < pipelines_.size(); ++i) {
      pipelines_[i].finish();
      if (Status status = pipelines_[i].status(); !status) return status;
    }
    return Nothing{};
  }

  // rdit instead of hb, if it has come to the end.
  void choose(report::Report& report) {
    const std::string why = fmt::format(
        "{} calls into code that was not recorded can reach what threads share, "
        "and may order them unseen",
        report.statistics["invisible calls"]);
    if (pipelines_.size() == 1) {
      detectors_.pop_back();
      report.notes.push_back(
          fmt::format("{}: hb, the run being too long for rdit, takes them for nothing", why));
      return;
    }
    report.notes.push_back(
        fmt::format("{}: rdit instead of hb (--detectors hb takes them for nothing)", why));
    detectors_.erase(detectors_.begin());
    pipelines_.erase(pipelines_.begin());
    lists_[0].races.clear();
    kept_list_ = 1;
  }

  Status look(const replay::Borders& borders, report::Report& report, triage::Suppressions& suppressions) {
    std::map<std::uint64_t, Seen> seen;
    for (const detect::RaceList& list : lists_)
      for (const detect::Race& race : list.races)
        seen[race.first.index.value()], seen[race.second.index.value()];
    if (seen.empty()) return Nothing{};
    Result<std::unique_ptr<World>> world = World::open(reader_, replay::Variant::kObserved);
    if (!world) return world.error();
    World& again = **world;
    Surroundings surroundings(again);
    std::uint64_t index = 0;
    auto next = seen.begin();
    RaceEvents* tracked = nullptr;
    Passage passage(*this, again, borders, [&](const Event& event, const AccessOrigin* origin) {
      if (next == seen.end() || index++ != next->first) return;
      Seen& found = next->second;
      ++next;
      found.event = event;
      if (origin == nullptr) return;
      found.origin = *origin;
      found.stack = origin->stack != nullptr ? *origin->stack : stack_at(again, event.thread, event.site);
      found.locks = tracked->held(event.thread);
      found.block = surroundings.block_of(origin->address);
      if (found.block) surroundings.keep(*found.block);
      found.local = surroundings.local_of(origin->address);
    });
    RaceEvents& events = passage.events;
    tracked = &events;
    events.set_stacks([&](ThreadId thread, SiteId site) { return stack_at(again, thread, site); });
    std::vector<replay::Observer*> observers = passage.observers();
    observers.insert(observers.begin(), &surroundings);
    if (Status pass = replay("looking", again, observers); !pass) return pass;
    std::vector<report::Finding> instances;
    for (std::size_t i = 0; i < lists_.size(); ++i)
      for (const detect::Race& race : lists_[i].races) {
        const Seen& first = seen.at(race.first.index.value());
        const Seen& second = seen.at(race.second.index.value());
        if (is_told_otherwise(lists_[i], race, seen)) continue;
        if (events.is_benign(first.origin.address) || events.is_benign(second.origin.address)) continue;
        instances.push_back(finding_of(first, second, race, name_of_list(i), surroundings, again.program()));
      }
    report::add_findings(report, std::move(instances), suppressions);
    return Nothing{};
  }

  std::string name_of_list(std::size_t i) const { return detectors_[i - kept_list_]; }

  void describe(report::Report& report) const {
    report.mode = "record";
    report.program.command = reader_.description().command;
    report.program.again = "deadheat analyze " + report::shell_quoted(request_.folder);
    if (const recording::Ending* ending = reader_.ending()) report.program.exit = ending->exit_code;
    report.statistics["events"] = std::to_string(events_);
    report.statistics["locations"] = std::to_string(locations_.count());
    report.statistics["threads replayed"] = std::to_string(threads_);
    report.statistics["regions verified"] = std::to_string(regions_);
    for (const detect::Pipeline& pipeline : pipelines_)
      if (std::string why = pipeline.incomplete(); !why.empty()) {
        report.incomplete = true;
        report.notes.push_back(fmt::format("incomplete: {} {}", pipeline.spec(), why));
      }
    if (!reader_.note().empty()) {
      report.incomplete = true;
      report.notes.push_back(fmt::format("incomplete: {}", reader_.note()));
    }
  }

  // The observers of a pass that makes events, from a fresh start.
  struct Passage {
    Passage(Analysis& analysis, World& world, const replay::Borders& borders, RaceEvents::Sink sink)
        : is_with_pairs(analysis.has_pairs_),
          events((analysis.locations_.restart(), analysis.locations_), borders, sink),
          pairs(world.program(), analysis.locations_, analysis.names_.reachable,
                [sink](const Event& event) { sink(event, nullptr); }) {
      if (is_with_pairs) events.set_barriers();
    }
    std::vector<replay::Observer*> observers() {
      std::vector<replay::Observer*> all = {&events};
      if (is_with_pairs) all.push_back(&pairs);
      return all;
    }
    bool is_with_pairs;
    RaceEvents events;
    replay::BarrierPairs pairs;
  };

  const RecordingAnalysis& request_;
  const recording::Reader& reader_;
  Progress& progress_;
  Names names_;
  Locations locations_;
  std::vector<std::string> detectors_;
  bool has_pairs_ = false;  // BarrierPairs are among the events
  bool is_chosen_ = false;  // rdit, not asked for
  bool needs_names_ = false;
  std::vector<detect::RaceList> lists_;  // of the pipelines, as they were at first
  std::size_t kept_list_ = 0;            // the first that counts
  std::vector<detect::Pipeline> pipelines_;
  std::uint64_t events_ = 0;
  std::uint64_t regions_ = 0;
  std::size_t threads_ = 0;
};

}  // namespace

bool is_recording(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

Result<report::Report> analyze_recording(const RecordingAnalysis& analysis,
                                         triage::Suppressions& suppressions, Progress& progress) {
  Result<recording::Reader> reader = recording::Reader::open(analysis.folder);
  if (!reader) return reader.error();
  return Analysis(analysis, *reader, progress).run(suppressions);
}

}  // namespace deadheat::cli
