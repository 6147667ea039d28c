// deadheat run: run an instrumented program, collect its findings, report.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/lane_options.h"
#include "cli/process.h"
#include "cli/recording_run.h"
#include "cli/reporting.h"
#include "cli/signals.h"
#include "cli/watching.h"
#include "report/prose.h"

namespace deadheat::cli {
namespace {

class RunCommand : public Command {
 public:
  std::string name() const override { return "run"; }
  std::string summary() const override { return "run an instrumented program and report its races"; }
  std::string usage() const override { return "run [options] -- PROGRAM ARGS..."; }
  std::string examples() const override {
    return "  deadheat-c++ -g bank.cpp -o bank          build it with the wrapper\n"
           "  deadheat run -- ./bank 8                  races are printed to standard error\n"
           "  deadheat run --json out.json -- ./bank 8  and written to a file\n"
           "  deadheat run -- make check                everything instrumented that it starts is watched\n"
           "  deadheat run --mode monitor --budget 5% -- ./server    leave it on, at most 5 % slower (built "
           "with "
           "--deadheat-mode=monitor)\n"
           "  deadheat run --mode record --out bank.dh -- ./bank 8   record it (built with "
           "--deadheat-mode=record)\n";
  }
  bool runs_program() const override { return true; }

  void add_options(CLI::App& app) override {
    lane_.add_options(app);
    record_.add_options(app);
    reporting_.add_options(app);
  }

  int run(const std::vector<std::string>& rest) override {
    if (rest.empty()) {
      complain("run: no program given; usage: deadheat run [options] -- PROGRAM ARGS...");
      return kExitUsage;
    }
    std::string file = find_in_path(rest[0]);
    if (file.empty()) {
      complain(fmt::format("{}: not found in PATH", rest[0]));
      return kExitUsage;
    }
    if (!lane_.prepare()) return kExitUsage;
    // Before anything runs, if the file itself says so; what it starts is looked at afterwards.
    if (std::string built = mode_of(file); !lane_.mode().empty() && !built.empty() && built != lane_.mode()) {
      complain(wrong_lane(rest[0], built));
      return kExitUsage;
    }
    const std::string mode = lane_.mode().empty() ? mode_of(file) : lane_.mode();
    if (const char* own = lane_.monitors_own(); own && !mode.empty() && mode != "monitor") {
      complain(fmt::format("{}: belongs to the monitor lane, and {} is built for --deadheat-mode={}", own,
                           rest[0], mode));
      return kExitUsage;
    }
    if (!record_.prepare(mode) || !reporting_.prepare()) return kExitUsage;
    if (mode == "record") {
      std::string again = "deadheat run --mode record --out " + report::shell_quoted(record_.out()) + " --";
      for (const std::string& word : rest) again += " " + report::shell_quoted(word);
      return record_program({file, rest}, record_, reporting_, again);
    }
    TemporaryFolder folder;
    if (folder.path().empty()) {
      complain(folder.error());
      return kExitUsage;
    }
    Watching watching;
    watching.program.file = file;
    watching.program.words = rest;
    watching.options = lane_.runtime_options();
    if (mode == "monitor" && !reporting_.quiet()) watching.tell = &reporting_;
    auto watched = watch(watching, folder.path(), reporting_.suppressions());
    if (!watched) {
      complain(watched.error().message);
      return kExitUsage;
    }
    if (!watched->any_log) {
      complain(unwatched(file, *watched));
      return kExitUsage;
    }
    if (!lane_.mode().empty() && lane_.mode() != watched->report.mode) {
      complain(wrong_lane(rest[0], watched->report.mode));
      return kExitUsage;
    }
    report::Report& report = watched->report;
    report.program.command = rest;
    report.program.again = "deadheat run --";
    for (const std::string& word : rest) report.program.again += " " + report::shell_quoted(word);
    if (const char* own = lane_.monitors_own(); own && report.mode != "monitor")
      report.notes.push_back(
          fmt::format("{} belongs to the monitor lane: what ran was built for {}", own, report.mode));
    if (watching.tell == nullptr) return reporting_.finish(report, watched->end.code);
    const int code = reporting_.finish_printed(report, Reporting::WhenClean::kSaysSo);
    return code == 0 ? watched->end.code : code;
  }

 private:
  std::string wrong_lane(const std::string& program, const std::string& built) const {
    return fmt::format(
        "{}: built for --deadheat-mode={}, and --mode {} was asked for: build it again for that lane",
        program, built, lane_.mode());
  }

  // Why there is nothing to report, in one line. It must never look like "no races".
  static std::string unwatched(const std::string& file, const Watched& watched) {
    std::string how = watched.end.signal != 0 ? fmt::format("ended by signal {}", watched.end.signal)
                                              : fmt::format("exit code {}", watched.end.code);
    if (is_instrumented(file)) {
      return fmt::format(
          "{}: nothing was watched: the program is instrumented, but its runtime did not start ({})", file,
          how);
    }
    return fmt::format(
        "{}: nothing was watched: it is not instrumented and started nothing that is ({}); "
        "build with deadheat-cc or deadheat-c++",
        file, how);
  }

  LaneOptions lane_;
  RecordOptions record_;
  Reporting reporting_;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace deadheat::cli
