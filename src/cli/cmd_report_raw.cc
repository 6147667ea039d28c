// deadheat report-raw: print a raw log's findings as they come. The runtime starts it, with a pipe, when an
// instrumented program is simply run; it can also be pointed at a raw log on disk.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

#include "cli/command.h"
#include "cli/reporting.h"
#include "cli/told_findings.h"
#include "report/merge.h"
#include "report/prose.h"
#include "report/raw.h"
#include "report/resolve.h"
#include "report/source.h"
#include "report/symbolizer.h"
#include "report/terminal.h"

namespace deadheat::cli {
namespace {

class ReportRawCommand : public Command {
 public:
  std::string name() const override { return "report-raw"; }
  std::string summary() const override { return "print the findings of a raw log as they come"; }
  std::string usage() const override { return "report-raw [options] FD|FILE|-"; }
  std::string examples() const override { return "  deadheat report-raw 3 3<raw.log\n"; }
  bool hidden() const override { return true; }

  void add_options(CLI::App& app) override {
    app.add_option("INPUT", input_, "number of an open file descriptor, a file, or - for standard input")
        ->required();
    app.add_option("--done", done_,
                   "descriptor that gets a byte at the end if there was no finding to print");
    reporting_.add_options(app);
  }

  int run(const std::vector<std::string>&) override {
    if (!reporting_.prepare()) return kExitUsage;
    if (input_ == "-") input_ = "0";
    bool is_number = input_.size() < 6 && input_.find_first_not_of("0123456789") == std::string::npos;
    int fd = is_number ? std::stoi(input_) : open(input_.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      complain(fmt::format("{}: cannot be read: {}", input_, std::strerror(errno)));
      return kExitUsage;
    }
    char buffer[1 << 16];
    while (true) {
      ssize_t count = read(fd, buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        complain(fmt::format("{}: cannot be read: {}", input_, std::strerror(errno)));
        return kExitUsage;
      }
      if (count == 0) break;
      parser_.feed({buffer, static_cast<std::size_t>(count)});
    }
    return end(parser_.logs());
  }

 private:
  void on_race(const report::RawLog& log, const report::RawRace& race) {
    report::Finding instance = report::resolve(log, race, symbolizer_);
    report::order_accesses(instance);
    reporting_.suppressions().take_programs_own(log.suppressions);
    const auto news = reporting_.suppressions().match(instance) == nullptr ? told_.add(instance)
                                                                           : ToldFindings::News::kNothing;
    const bool names_variable = news == ToldFindings::News::kVariable && log.mode == "monitor";
    if (names_variable && !reporting_.quiet())
      fmt::print(stderr, "{}", ToldFindings::variable_line(instance));
    instances_.push_back({std::move(instance), parser_.logs().size() - 1, race.id});
    if (news != ToldFindings::News::kFinding || reporting_.quiet()) return;
    // Printed at once: the program may be killed before it ends. Its fingerprint is final, but for races
    // between the same two functions of a program without debug information.
    report::Report context;
    context.program.again = again(log);
    std::vector<report::Finding> one = report::merge({instances_.back().finding});
    fmt::print(stderr, "{}",
               report::render_terminal(context, one[0], sources_, {.color = reporting_.color()}));
  }

  int end(const std::vector<report::RawLog>& logs) {
    report::Report report;
    std::vector<report::Finding> instances;
    for (auto& [instance, log, id] : instances_) {
      // How often is known at the end only.
      report::RawRace race;
      race.id = id;
      instance.instances = logs[log].instances_of(race);
      if (reporting_.suppressions().match(instance) == nullptr) {
        instances.push_back(std::move(instance));
      } else {
        suppressed_.insert(report::identity_of(instance));
      }
    }
    std::erase_if(suppressed_, [&](const std::string& identity) { return told_.contains(identity); });
    report.suppressed = suppressed_.size();
    report.findings = report::merge(std::move(instances));
    for (const report::RawLog& log : logs) {
      if (!log.argv.empty()) report.program.command = log.argv;
      if (!log.mode.empty()) report.mode = log.mode;
      report.program.exit = log.exit;
      report.program.again = again(log);
      report.notes.insert(report.notes.end(), log.notes.begin(), log.notes.end());
      for (const auto& [name, value] : log.statistics) report.statistics[name] = value;
    }
    // Read by who has started us: its exit code says whether there are findings
    // (runtime/platform/reporter.h).
    if (done_ >= 0 && report.findings.empty() && write(done_, "", 1) != 1)
      complain(fmt::format("descriptor {}: cannot be written: {}", done_, std::strerror(errno)));
    const std::vector<std::string> unreadable = symbolizer_.notes();
    report.notes.insert(report.notes.end(), unreadable.begin(), unreadable.end());
    return reporting_.finish_printed(report, Reporting::WhenClean::kIsSilent);
  }

  static std::string again(const report::RawLog& log) {
    std::string text;
    for (const std::string& word : log.argv) text += (text.empty() ? "" : " ") + report::shell_quoted(word);
    return text;
  }

  std::string input_;
  int done_ = -1;
  Reporting reporting_;
  report::Symbolizer symbolizer_;
  report::SourceCache sources_;
  struct Instance {
    report::Finding finding;
    std::size_t log;  // which of the parser's
    std::optional<std::uint64_t> id;
  };
  std::vector<Instance> instances_;
  report::RawParser parser_{
      [this](const report::RawLog& log, const report::RawRace& race) { on_race(log, race); }};
  ToldFindings told_;
  std::set<std::string> suppressed_;
};

}  // namespace

std::unique_ptr<Command> make_report_raw_command() { return std::make_unique<ReportRawCommand>(); }

}  // namespace deadheat::cli
