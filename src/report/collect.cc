#include "report/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "report/merge.h"
#include "report/resolve.h"

namespace deadheat::report {
namespace {

std::optional<std::uint64_t> count_of(std::string_view text) {
  std::uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Counters of several processes are added up; anything else is the last one's.
void add_statistics(std::map<std::string, std::string>& all, const std::map<std::string, std::string>& more) {
  for (const auto& [name, value] : more) {
    auto [it, is_new] = all.try_emplace(name, value);
    if (is_new) continue;
    auto before = count_of(it->second), added = count_of(value);
    it->second = before && added ? std::to_string(*before + *added) : value;
  }
}

}  // namespace

void add_findings(Report& report, std::vector<Finding> instances, triage::Suppressions& suppressions) {
  std::vector<Finding> kept, suppressed;
  for (Finding& instance : instances) {
    (suppressions.match(instance) == nullptr ? kept : suppressed).push_back(std::move(instance));
  }
  report.findings = merge(std::move(kept));
  std::set<std::string> shown;
  for (const Finding& finding : report.findings) shown.insert(identity_of(finding));
  for (Finding& finding : merge(std::move(suppressed))) {
    if (!shown.contains(identity_of(finding))) report.suppressed++;
  }
  for (const triage::Suppression* unused : suppressions.unused()) {
    report.notes.push_back(
        fmt::format("{}:{}: suppression {} matched nothing", unused->file, unused->line, text_of(*unused)));
  }
}

Report collect(const std::vector<RawLog>& logs, Symbolizer& symbolizer, triage::Suppressions& suppressions) {
  Report report;
  std::vector<Finding> instances;
  for (const RawLog& log : logs) {
    if (report.mode.empty()) report.mode = log.mode;
    suppressions.take_programs_own(log.suppressions);
    for (const RawRace& race : log.races) instances.push_back(resolve(log, race, symbolizer));
    for (const std::string& note : log.notes) {
      if (std::find(report.notes.begin(), report.notes.end(), note) == report.notes.end())
        report.notes.push_back(note);
    }
    if (log.damaged > 0) {
      report.notes.push_back(fmt::format("process {}: {} damaged line{} of its log skipped; the first: {}",
                                         log.pid, log.damaged, log.damaged == 1 ? "" : "s",
                                         log.first_damage));
    }
    add_statistics(report.statistics, log.statistics);
  }
  const std::vector<std::string> unreadable = symbolizer.notes();
  report.notes.insert(report.notes.end(), unreadable.begin(), unreadable.end());
  add_findings(report, std::move(instances), suppressions);
  return report;
}

}  // namespace deadheat::report
