#include "cli/watching.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "cli/live_findings.h"
#include "report/collect.h"
#include "report/raw.h"
#include "report/symbolizer.h"

namespace deadheat::cli {
namespace {

std::string runtime_options(const Watching& watching, const std::string& folder) {
  const char* users = getenv("DEADHEAT_OPTIONS");
  std::string options = users == nullptr ? std::string() : users;
  if (!options.empty()) options += ' ';
  options += fmt::format("log={}/raw", folder);
  if (!watching.options.empty()) options += " " + watching.options;
  return options;
}

// The logs of the program's processes, the first process first.
Result<std::vector<report::RawLog>> read_logs(const std::string& folder, int first_pid) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with("raw.")) paths.push_back(entry.path().string());
  }
  if (error) return Error{fmt::format("{}: cannot be read: {}", folder, error.message())};
  std::string first = fmt::format("{}/raw.{}", folder, first_pid);
  std::sort(paths.begin(), paths.end(), [&](const std::string& a, const std::string& b) {
    return std::pair(a != first, a) < std::pair(b != first, b);
  });
  std::vector<report::RawLog> logs;
  for (const std::string& path : paths) {
    auto read = report::read_raw_file(path);
    if (!read) return read.error();
    for (report::RawLog& log : *read) logs.push_back(std::move(log));
  }
  return logs;
}

}  // namespace

Result<Watched> watch(const Watching& watching, const std::string& folder,
                      triage::Suppressions& suppressions) {
  ProgramStart start = watching.program;
  start.environment.emplace_back("DEADHEAT_OPTIONS", runtime_options(watching, folder));
  std::unique_ptr<LiveFindings> live;
  if (watching.tell) live = std::make_unique<LiveFindings>(folder, *watching.tell, watching.program.words);
  auto end = run_program(start);
  if (live) live->finish();
  if (!end) return end.error();

  auto logs = read_logs(folder, end->pid);
  if (!logs) return logs.error();
  report::Symbolizer symbolizer;
  Watched watched;
  watched.end = *end;
  watched.any_log =
      std::any_of(logs->begin(), logs->end(), [](const report::RawLog& log) { return log.started; });
  watched.report = report::collect(*logs, symbolizer, suppressions);
  watched.report.program.exit = end->code;
  if (watched.report.mode.empty()) watched.report.mode = "watch";
  for (const report::RawLog& log : *logs) {
    if (log.started && !log.ended && static_cast<int>(log.pid) != end->pid && log.pid > 1 &&
        kill(static_cast<pid_t>(log.pid), 0) == 0) {
      watched.report.incomplete = true;
      watched.report.notes.push_back(
          fmt::format("process {} is still running: what it finds from now on is not reported", log.pid));
    }
  }
  if (end->signal != 0) {
    watched.report.notes.push_back(
        fmt::format("the program was ended by signal {} ({})", end->signal, strsignal(end->signal)));
  }
  return watched;
}

}  // namespace deadheat::cli
