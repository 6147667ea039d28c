// deadheat analyze: detect races in a trace or a recording.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "cli/analyze_recording.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/reporting.h"
#include "cli/signals.h"
#include "cli/trace_input.h"
#include "cli/witness_prefix.h"
#include "detect/held_locks.h"
#include "detect/pipeline.h"
#include "report/collect.h"
#include "report/prose.h"
#include "trace/std_text.h"
#include "trace/trace.h"

namespace deadheat::cli {
namespace {

// "4G", "512M", "1000000".
bool parse_bytes(const std::string& text, std::uint64_t& bytes) {
  std::size_t used = 0;
  try {
    double number = std::stod(text, &used);
    std::string unit = text.substr(used);
    if (!unit.empty() && (unit.back() == 'B' || unit.back() == 'b')) unit.pop_back();
    if (unit.size() > 1 && unit.back() == 'i') unit.pop_back();
    double scale = unit.empty()                 ? 1
                   : unit == "K" || unit == "k" ? 1024.0
                   : unit == "M" || unit == "m" ? 1024.0 * 1024
                   : unit == "G" || unit == "g" ? 1024.0 * 1024 * 1024
                                                : -1;
    if (scale < 0 || !(number * scale >= 1) || number * scale > 1e18) return false;
    bytes = static_cast<std::uint64_t>(number * scale);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

report::Access access_of(const detect::RacyEvent& racy, const Names& names) {
  report::Access access;
  access.thread = racy.event.thread.value();
  access.operation =
      racy.event.kind == EventKind::kWrite ? report::Operation::kWrite : report::Operation::kRead;
  access.event = racy.index.value();
  access.locks_known = false;  // until the trace is read again
  access.location.place = std::string(names.site(racy.event.site));
  if (racy.event.has_value) access.value = std::to_string(static_cast<std::int64_t>(racy.event.value));
  return access;
}

report::Finding finding_of(const detect::Race& race, const std::string& detector, const Names& names) {
  report::Finding finding;
  finding.detectors = {detector};
  finding.accesses = {access_of(race.first, names), access_of(race.second, names)};
  report::Variable variable;
  variable.kind = report::VariableKind::kTrace;
  variable.name = std::string(names.object(race.second.event));
  finding.variables = {variable};
  for (const report::Access& access : finding.accesses) {
    report::Thread thread;
    thread.id = access.thread;
    thread.name = std::string(names.thread(ThreadId(access.thread)));
    finding.threads.push_back(thread);
  }
  for (EventIndex index : race.witness) finding.witness.push_back(index.value());
  finding.witness_prefix =
      witness_prefix(race, [&](ThreadId thread) { return std::string(names.thread(thread)); });
  return finding;
}

// As the text format writes it.
report::Step step_of(std::uint64_t index, const Event& event, const Names& names) {
  constexpr std::size_t kMostLocations = 16;  // of a call; it may reach millions
  report::Step step;
  step.event = index;
  step.thread = std::string(names.thread(event.thread));
  step.operation = to_std_operation(names, event, kMostLocations);
  step.place = std::string(names.site(event.site));
  return step;
}

class AnalyzeCommand : public Command {
 public:
  std::string name() const override { return "analyze"; }
  std::string summary() const override {
    return "detect races in a recording or a trace, of other schedules too";
  }
  std::string usage() const override { return "analyze [options] INPUT"; }
  std::string examples() const override {
    return "  deadheat analyze run.dh                               a recording: every pair of places of the "
           "run\n"
           "  deadheat analyze run.std                              with the default detectors\n"
           "  deadheat analyze --detectors 'spans|fasttrack' run.dht\n"
           "  deadheat analyze --detectors syncp,mcm --solver-seconds 300 --json out.json run.std\n";
  }

  void add_options(CLI::App& app) override {
    std::string known;
    for (const detect::DetectorInfo& info : detect::all_detectors()) {
      known += fmt::format("\n    {:<10} {}{}", info.name, info.is_filter ? "(filter) " : "", info.guarantee);
    }
    app.add_option("INPUT", input_,
                   "a recording (a folder), or a trace: STD text, or Deadheat's own; - is standard input")
        ->required();
    app.add_option("--detectors", detectors_,
                   "detectors, separated by commas, each with filters before it (spans|fasttrack); default: "
                   "hb for a recording (rdit if code that was not recorded may order its threads); shb,mcm "
                   "for a trace, or rdit if it has untraced calls; known:" +
                       known)
        ->type_name("NAMES");
    app.add_option("--solver-seconds", solver_seconds_, "time for each detector that uses a solver")
        ->type_name("SECONDS")
        ->check([](const std::string& text) {
          double seconds = 0;
          bool ok = CLI::detail::lexical_cast(text, seconds) && seconds > 0 && std::isfinite(seconds);
          return ok ? std::string() : fmt::format("expected a number above 0, found \"{}\"", text);
        })
        ->capture_default_str();
    app.add_option(
           "--solver-memory", solver_memory_,
           "memory for what all detectors keep while the trace is read, and for each solver, for example 4G")
        ->type_name("BYTES")
        ->capture_default_str();
    app.add_option("--jobs", jobs_, "threads for solvers, at most 256; 0: one for each processor")
        ->type_name("N")
        ->check([](const std::string& text) {
          int jobs = 0;
          bool ok = CLI::detail::lexical_cast(text, jobs) && jobs >= 0 && jobs <= 256;
          return ok ? std::string() : fmt::format("expected a number from 0 to 256, found \"{}\"", text);
        });
    app.add_option("--copy-limit", copy_limit_,
                   "space that a temporary copy of standard input or a pipe may take; detectors that read a "
                   "trace once need none")
        ->type_name("BYTES")
        ->capture_default_str();
    app.add_option("--mode", mode_, "accepted for uniformity: a trace has no lane")
        ->type_name("LANE")
        ->check(CLI::IsMember({"watch", "monitor", "record"}));
    reporting_.add_options(app);
  }

  int run(const std::vector<std::string>& rest) override {
    if (!rest.empty()) return fail(fmt::format("analyze: unexpected \"{}\" after --", rest[0]));
    detect::Options options;
    options.solver_seconds = solver_seconds_;
    options.jobs = jobs_ > 0 ? jobs_ : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    if (!parse_bytes(solver_memory_, options.memory_bytes)) {
      return fail(fmt::format("--solver-memory: expected a size like 4G, found \"{}\"", solver_memory_));
    }
    if (!reporting_.prepare()) return kExitUsage;
    Progress progress(!reporting_.quiet());
    options.cancelled = &interrupt_flag();
    if (is_recording(input_)) return run_on_recording(options, progress);
    std::uint64_t most_copied = 0;
    if (!parse_bytes(copy_limit_, most_copied)) {
      return fail(fmt::format("--copy-limit: expected a size like 8G, found \"{}\"", copy_limit_));
    }
    auto input = TraceInput::open(input_, *options.cancelled, readings(), most_copied);
    if (!input) return fail(input.error().message);
    trace_ = &*input;
    if (input->cut_short()) {
      // What came until then is worth a look, a short one; a further Ctrl-C ends that.
      forget_interrupt();
      options.solver_seconds = std::min(options.solver_seconds, 1.0);
    }
    auto source = trace_->read_checked();
    if (!source) return fail(source.error().message);
    options.progress = [&](double fraction) {
      progress.show(fraction < 0 ? "preparing to solve" : "solving", fraction);
    };
    report::Report report;
    if (detectors_.empty()) detectors_ = default_detectors(report, progress, options);
    // One list per pipeline: a race is named after the whole pipeline that found it.
    std::vector<std::string> specs = split(detectors_);
    std::vector<detect::RaceList> lists(specs.size());
    std::vector<detect::Pipeline> pipelines;
    for (std::size_t i = 0; i < specs.size(); i++) {
      detect::StageContext context;
      context.names = &(*source)->names();
      context.sink = &lists[i];
      context.options = options;
      auto pipeline = detect::make_pipeline(specs[i], context);
      if (!pipeline) return fail(pipeline.error().message);
      pipelines.push_back(std::move(*pipeline));
    }
    auto events = detect::run_pipelines(**source, pipelines, options, [&](std::uint64_t count) {
      progress.show(fmt::format("{} events", count), (*source)->progress());
    });
    progress.clear();
    if (!events) return fail(prefixed(events.error().message));

    describe(report, **source, *events, pipelines, options.is_cancelled());
    spell_out_cuts(lists);
    std::vector<report::Finding> instances;
    for (std::size_t i = 0; i < lists.size(); i++) {
      std::vector<detect::Race>& races = lists[i].races;
      for (std::size_t k = 0; k < races.size(); k++) {
        if (k % 1024 == 0)
          shorten_if_interrupted(races, std::max(k, kMostAfterInterrupt), specs[i] + " found", report,
                                 options);
        if (k == races.size()) break;
        instances.push_back(finding_of(races[k], specs[i], (*source)->names()));
        races[k].witness = {};
      }
    }
    const std::size_t most = kMostAfterInterrupt * lists.size();
    shorten_if_interrupted(instances, most, "were found", report, options);
    report::add_findings(report, std::move(instances), reporting_.suppressions());
    shorten_if_interrupted(report.findings, most, "were found", report, options);
    spell_out(report, options, progress);
    shorten_if_interrupted(report.findings, most, "were found", report, options);
    progress.clear();
    // What is wrong with the input is not a matter of the report alone.
    if (reporting_.quiet() && !(*source)->note().empty()) complain("incomplete: " + (*source)->note());
    return reporting_.finish(report, kExitClean);
  }

 private:
  // Who has pressed Ctrl-C does not wait a minute for the report of millions of races. Of each detector:
  static constexpr std::size_t kMostAfterInterrupt = 10'000;
  template <class Items>
  static void shorten_if_interrupted(Items& items, std::size_t most, const std::string& found,
                                     report::Report& report, const detect::Options& options) {
    if (!options.is_cancelled() || items.size() <= most) return;
    report.incomplete = report.interrupted = true;
    report.notes.push_back(
        fmt::format("incomplete: interrupted: of {} races that {}, the first {} are reported", items.size(),
                    found, most));
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(most), items.end());
  }

  static int fail(const std::string& what) {
    complain(what);
    return kExitUsage;
  }

  int run_on_recording(const detect::Options& options, Progress& progress) {
    RecordingAnalysis analysis{input_, detectors_.empty() ? std::vector<std::string>() : split(detectors_),
                               options};
    auto report = analyze_recording(analysis, reporting_.suppressions(), progress);
    if (!report) return fail(report.error().message);
    return reporting_.finish(*report, kExitClean);
  }

  // A pipe is not copied for detectors that need it once.
  TraceInput::Readings readings() const {
    const std::vector<std::string> specs = split(detectors_);
    const bool is_once =
        !detectors_.empty() && std::all_of(specs.begin(), specs.end(), detect::needs_one_reading);
    return is_once ? TraceInput::Readings::kOne : TraceInput::Readings::kMore;
  }

  // Errors of readers name the file already; those of detectors do not.
  std::string prefixed(const std::string& message) const {
    return message.starts_with(trace_->shown()) ? message : fmt::format("{}: {}", trace_->shown(), message);
  }

  static std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> parts;
    while (true) {
      std::size_t comma = list.find(',');
      parts.emplace_back(list.substr(0, comma));
      if (comma == std::string_view::npos) return parts;
      list.remove_prefix(comma + 1);
    }
  }

  // A witness that is a part of the trace comes as a cut; only reading the trace again can spell it out. That
  // is done as long as it takes little time and space; the others stay what they are, so many events of each
  // thread.
  void spell_out_cuts(std::vector<detect::RaceList>& lists) const {
    std::uint64_t budget = 2'000'000;
    std::vector<detect::Race*> races;
    for (detect::RaceList& list : lists) {
      for (detect::Race& race : list.races) {
        if (!race.witness.empty() || race.cut.empty() || race.second.index.value() > budget) continue;
        budget -= race.second.index.value();
        races.push_back(&race);
      }
    }
    if (races.empty()) return;
    if (auto again = trace_->read()) (void)detect::expand_witnesses(**again, races).ok();
  }

  // Every sound race, unless the trace is so long that a solver would take an hour to read it. One reading
  // tells.
  std::string default_detectors(report::Report& report, Progress& progress,
                                const detect::Options& options) const {
    constexpr std::uint64_t kLong = 5'000'000;
    std::uint64_t count = 0;
    bool has_gaps = false;
    auto source = trace_->read();
    std::vector<Event> events(4096);
    while (source && !has_gaps && !options.is_cancelled()) {
      auto got = (*source)->read(events);
      if (!got || *got == 0) break;  // what is wrong is said by the reading that counts
      for (const Event& event : std::span(events).first(*got)) has_gaps |= event.kind == EventKind::kEnter;
      count += *got;
      progress.show("reading", (*source)->progress());
    }
    // Everything but rdit would take what was not traced for nothing, and give false alarms.
    if (has_gaps) return "rdit";
    // How long it is nobody knows yet; what there is time for is a look.
    if (count <= kLong || options.is_cancelled()) return options.is_cancelled() ? "shb" : "shb,mcm";
    report.notes.push_back(fmt::format(
        "the trace has {} events: shb only; races of other schedules: --detectors syncp, or mcm with time",
        count));
    return "shb";
  }

  // What only the trace itself can say of what is shown: the last events of each witness, as lines; for each
  // access, the locks that its thread held and the value, which streaming detectors do not keep for every
  // access of the trace.
  void spell_out(report::Report& report, const detect::Options& options, Progress& progress) const {
    constexpr std::size_t kSteps = 16;
    // Thousands of accesses may each hold thousands of locks with long names.
    constexpr std::uint64_t kMostLockBytes = std::uint64_t{64} << 20;
    if (report.findings.empty()) return;
    if (!trace_->is_kept()) {
      report.notes.push_back(
          fmt::format("{} was read once, and was too long to keep: locks held and some values are not shown",
                      trace_->shown()));
      return;
    }
    struct Shown {
      std::optional<report::Step> step;
      std::vector<report::Access*> accesses;
      bool is_known = false;
    };
    std::map<std::uint64_t, Shown> shown;
    auto first_shown = [](const report::Finding& finding) {
      return finding.witness.size() > kSteps ? finding.witness.size() - kSteps : 0;
    };
    for (report::Finding& finding : report.findings) {
      for (std::size_t i = first_shown(finding); i < finding.witness.size(); i++)
        shown[finding.witness[i]].step.emplace();
      for (report::Access& access : finding.accesses) {
        if (access.event) shown[*access.event].accesses.push_back(&access);
      }
    }
    auto source = trace_->read();
    if (!source) return;
    const auto started = std::chrono::steady_clock::now();
    detect::HeldLocks held;
    Event event;
    auto next = shown.begin();
    std::uint64_t lock_bytes = 0, without_locks = 0;
    for (std::uint64_t index = 0; next != shown.end(); index++) {
      auto more = (*source)->next(event);
      if (!more || !*more) break;
      if (event.kind == EventKind::kAcquire || event.kind == EventKind::kRelease) held.on_lock(event);
      // Who has pressed Ctrl-C waits no longer than this.
      if (options.is_cancelled() && std::chrono::steady_clock::now() - started > std::chrono::seconds(1)) {
        report.incomplete = report.interrupted = true;
        report.notes.push_back(fmt::format(
            "incomplete: interrupted while looking up what is shown: locks held and some values are missing "
            "from event {} on",
            next->first));
        break;
      }
      if (index % 4096 == 0) progress.show("looking up what is shown", (*source)->progress());
      if (index != next->first) continue;
      const Names& names = (*source)->names();
      if (next->second.step) next->second.step = step_of(index, event, names);
      for (report::Access* access : next->second.accesses) {
        if (event.has_value) access->value = std::to_string(static_cast<std::int64_t>(event.value));
        if (lock_bytes > kMostLockBytes) {
          ++without_locks;
        } else {
          lock_bytes += describe_locks(*access, event.thread, held, names);
        }
      }
      next->second.is_known = true;
      ++next;
    }
    if (without_locks > 0) {
      report.incomplete = true;
      report.notes.push_back(fmt::format(
          "incomplete: the locks held at {} of the accesses are not shown: those of the others take "
          "more than {} MiB already",
          without_locks, kMostLockBytes >> 20));
    }
    for (report::Finding& finding : report.findings) {
      const std::span witness = std::span(finding.witness).subspan(first_shown(finding));
      // A schedule with holes says nothing; the numbers of its events are there.
      if (!std::all_of(witness.begin(), witness.end(), [&](std::uint64_t e) { return shown[e].is_known; }))
        continue;
      for (const std::uint64_t e : witness) finding.schedule.push_back(*shown[e].step);
    }
  }

  // Returns about how many bytes that took.
  static std::uint64_t describe_locks(report::Access& access, ThreadId thread, const detect::HeldLocks& held,
                                      const Names& names) {
    access.locks.clear();
    std::uint64_t bytes = 0;
    held.for_each(thread, [&](std::uint32_t lock) {
      report::Lock named;
      named.name = std::string(names.locks.name(lock));
      bytes += sizeof(named) + named.name.size();
      access.locks.push_back(std::move(named));
    });
    std::sort(access.locks.begin(), access.locks.end(),
              [](const report::Lock& a, const report::Lock& b) { return a.name < b.name; });
    access.locks_known = true;
    return bytes;
  }

  void describe(report::Report& report, const TraceSource& source, std::uint64_t events,
                const std::vector<detect::Pipeline>& pipelines, bool cancelled) const {
    report.mode = "trace";
    report.program.command = {"deadheat", "analyze", "--detectors", detectors_, input_};
    for (const std::string& word : report.program.command) {
      report.program.again += (report.program.again.empty() ? "" : " ") + report::shell_quoted(word);
    }
    report.statistics["events"] = std::to_string(events);
    for (const detect::Pipeline& pipeline : pipelines) {
      for (const auto& [stage, counters] : pipeline.statistics()) {
        for (const auto& [counter, value] : counters) {
          report.statistics[fmt::format("{}: {} {}", pipeline.spec(), stage, counter)] =
              std::to_string(value);
        }
      }
      if (std::string why = pipeline.incomplete(); !why.empty()) {
        report.incomplete = true;
        report.notes.push_back(fmt::format("incomplete: {} {}{}", pipeline.spec(), why,
                                           cancelled || pipeline.has_given_up()
                                               ? ""
                                               : fmt::format(" (--solver-seconds {}, --solver-memory {})",
                                                             solver_seconds_, solver_memory_)));
      }
    }
    if (cancelled) {
      report.incomplete = report.interrupted = true;
      report.notes.push_back(fmt::format("incomplete: interrupted after {} events", events));
    }
    if (trace_->cut_short()) {
      report.incomplete = true;
      report.notes.push_back(fmt::format("incomplete: interrupted while {} was read", trace_->shown()));
    }
    if (!source.note().empty()) {
      report.incomplete = true;
      report.notes.push_back(fmt::format("incomplete: {}", source.note()));
    }
  }

  std::string input_;
  const TraceInput* trace_ = nullptr;
  std::string detectors_;
  std::string mode_;
  double solver_seconds_ = 60;
  std::string solver_memory_ = "8G";
  std::string copy_limit_ = "8G";
  int jobs_ = 0;
  Reporting reporting_;
};

}  // namespace

std::unique_ptr<Command> make_analyze_command() { return std::make_unique<AnalyzeCommand>(); }

}  // namespace deadheat::cli
