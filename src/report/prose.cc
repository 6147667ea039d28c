#include "report/prose.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "report/function_names.h"
#include "report/names.h"

namespace deadheat::report {
namespace {

std::string plural(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

// The runtime sends the raw bits. Small numbers read best in decimal, everything else (pointers, bit sets) as
// it is.
std::string number_text(const std::string& value) {
  if (!value.starts_with("0x")) return value;
  std::uint64_t number = 0;
  auto [end, error] = std::from_chars(value.data() + 2, value.data() + value.size(), number, 16);
  if (error != std::errc() || end != value.data() + value.size()) return value;
  return number < (1u << 31) ? std::to_string(number) : value;
}

// Of the instance that is shown.
bool has_any(const Finding& finding, std::initializer_list<std::string_view> detectors) {
  const std::vector<std::string>& found_by = finding.shown_by.empty() ? finding.detectors : finding.shown_by;
  return std::any_of(found_by.begin(), found_by.end(), [&](const std::string& name) {
    // A pipeline's last stage is the detector: "spans|fasttrack".
    std::string_view last = std::string_view(name).substr(name.rfind('|') + 1);
    return std::find(detectors.begin(), detectors.end(), last) != detectors.end();
  });
}

}  // namespace

std::string operation_text(const Access& access) {
  std::string text(name_of(access.operation));
  std::replace(text.begin(), text.end(), '-', ' ');
  if (access.operation != Operation::kFree && access.size > 0) text += " of " + plural(access.size, "byte");
  return text;
}

std::string thread_text(const Finding& finding, std::uint32_t id) {
  auto it = std::find_if(finding.threads.begin(), finding.threads.end(),
                         [&](const Thread& t) { return t.id == id; });
  std::string name = it == finding.threads.end() ? std::string() : it->name;
  if (id == 0 && (name.empty() || name == "main")) return "the main thread";
  return name.empty() ? fmt::format("thread {}", id) : fmt::format("thread {} '{}'", id, name);
}

std::string variable_text(const Variable& variable) {
  std::string text;
  std::string size = variable.size > 0 ? fmt::format(", {}", plural(variable.size, "byte")) : std::string();
  switch (variable.kind) {
    case VariableKind::kGlobal:
    case VariableKind::kThreadLocal: {
      std::string name = short_function(variable.member.empty() ? variable.name : variable.member);
      std::string_view kind = variable.kind == VariableKind::kGlobal ? "global" : "thread-local";
      if (name.empty()) {
        text = variable.kind == VariableKind::kGlobal ? "a global" : "a thread-local variable";
        break;
      }
      text = name;
      text += variable.member.empty()
                  ? fmt::format(" ({}{}", kind, size)
                  : fmt::format(" (in {} {}{}", kind, short_function(variable.name), size);
      if (variable.declared.line > 0) text += ", " + place_text(variable.declared);
      text += ")";
      break;
    }
    case VariableKind::kHeap:
      text = variable.size > 0 ? fmt::format("a heap block of {}", plural(variable.size, "byte"))
                               : "a heap block";
      break;
    case VariableKind::kStack:
      text = variable.name.empty() ? "a stack variable"
                                   : fmt::format("{} (stack variable{}", variable.name, size);
      if (!variable.name.empty()) {
        if (!variable.declared.function.empty()) text += " of " + variable.declared.function;
        text += ")";
      } else if (!variable.declared.function.empty()) {
        text += " of " + variable.declared.function;
      }
      break;
    case VariableKind::kTrace:
      text = variable.name;
      break;
    case VariableKind::kUnknown:
      text = variable.name.empty() ? fmt::format("memory at {}", hex(variable.address)) : variable.name;
      break;
  }
  if (variable.offset > 0 && variable.member.empty()) text += fmt::format(", at offset {}", variable.offset);
  return text;
}

std::string headline_text(const Finding& finding) {
  std::string text = finding.kind == Kind::kDataRace ? "data race on " : "high-level race on ";
  if (finding.kind == Kind::kHighLevelRace) {
    std::string names;
    for (const Variable& variable : finding.variables) {
      names += (names.empty() ? "" : ", ") +
               (variable.name.empty() ? variable_text(variable) : short_function(variable.name));
    }
    return text + names;
  }
  if (finding.variables.empty()) return text + "unknown memory";
  text += variable_text(finding.variables[0]);
  // Of very many a few: the JSON report has what the finding has.
  constexpr std::size_t kMostNamed = 8;
  const std::size_t count = finding.variables.size();
  const std::size_t named = count <= kMostNamed + 1 ? count : kMostNamed;
  std::string others;
  for (std::size_t i = 1; i < named; i++) {
    const Variable& variable = finding.variables[i];
    others += (i > 1 ? ", " : "") +
              (variable.name.empty() ? variable_text(variable) : short_function(variable.name));
  }
  if (!others.empty()) text += ", and on " + others;
  if (named < count) text += fmt::format(" and {} more", count - named);
  return text;
}

std::string value_text(const Access& access) {
  if (!access.value) return {};
  std::string value = number_text(*access.value);
  if (!is_write(access.operation)) return "value read: " + value;
  if (!access.value_before) return "value written: " + value;
  std::string before = number_text(*access.value_before);
  return before == value ? fmt::format("value kept: {}", value)
                         : fmt::format("value changed: {} -> {}", before, value);
}

std::string why_text(const Finding& finding) {
  if (!finding.why.empty() || finding.accesses.size() != 2) return finding.why;
  const Access& a = finding.accesses[0];
  const Access& b = finding.accesses[1];
  if (a.event) {
    if (has_any(finding, {"fasttrack", "hb"})) {
      return "no chain of locks, forks, joins and messages leads from the one access to the other";
    }
    if (has_any(finding, {"lockset", "hybrid"})) return "no lock is held at every access of the location";
    return "another order of the same events brings the two accesses next to each other";
  }
  if (a.locks.empty() && b.locks.empty()) {
    return "no lock is held at either access, and no synchronisation between the two threads lies between "
           "them";
  }
  if (a.locks.empty() || b.locks.empty()) {
    return "only one of the two accesses holds a lock, and no synchronisation between the two threads lies "
           "between them";
  }
  return "the two accesses hold different locks, and no synchronisation between the two threads lies between "
         "them";
}

std::string prefix_text(const Finding& finding) {
  constexpr std::size_t kNamed = 8;
  const std::vector<Prefix>& prefixes = finding.witness_prefix;
  std::string threads;
  for (std::size_t i = 0; i < std::min(kNamed, prefixes.size()); i++) {
    bool is_last = i + 1 == prefixes.size();
    threads += fmt::format("{}{} of {}",
                           i == 0    ? ""
                           : is_last ? " and "
                                     : ", ",
                           prefixes[i].events, prefixes[i].thread);
  }
  if (prefixes.size() > kNamed) {
    threads += fmt::format(" and those of {} more threads", prefixes.size() - kNamed);
  }
  std::string events;
  for (const Access& access : finding.accesses) {
    if (access.event) events += fmt::format("{}{}", events.empty() ? "" : " and ", *access.event);
  }
  return fmt::format("in the order of the trace, the first events of each thread: {}; then events {}",
                     threads, events);
}

std::string sure_text(const Finding& finding) {
  if (finding.verdict == Verdict::kBenign || finding.verdict == Verdict::kOrdered ||
      finding.verdict == Verdict::kHarmful) {
    return fmt::format("{}{}{}", name_of(finding.verdict), finding.reason.empty() ? "" : ": ",
                       finding.reason);
  }
  if (finding.kind == Kind::kHighLevelRace) {
    return "likely: the variables belong together, and were changed by parts";
  }
  if (has_any(finding, {"fasttrack", "hb", "ifrit", "monitor"})) {
    bool is_trace = !finding.accesses.empty() && finding.accesses[0].event.has_value();
    return is_trace ? "certain: nothing orders the two accesses in the order that the trace shows"
                    : "certain: it happened in this run; nothing in C, C++ or POSIX orders the two accesses";
  }
  if (!finding.witness.empty() || !finding.witness_prefix.empty()) {
    return has_any(finding, {"mcm", "rdit"})
               ? "certain: the schedule above is possible by this trace, and was checked independently"
               : "certain: the schedule above is possible by this trace";
  }
  if (has_any(finding, {"syncp", "shb", "mcm", "rdit"}))
    return "certain: another schedule of the same run shows it";
  if (has_any(finding, {"wcp", "cp"})) {
    return "nearly: another schedule of the same run shows this race or a deadlock";
  }
  if (has_any(finding, {"lockset", "hybrid"})) {
    return "possible: no common lock guards the location; other synchronisation may, so this can be a false "
           "alarm";
  }
  return {};
}

std::string summary_text(const Report& report) {
  std::string text = plural(report.findings.size(), "finding");
  int counts[4] = {};
  std::uint64_t instances = 0;
  for (const Finding& finding : report.findings) {
    counts[static_cast<int>(finding.verdict)]++;
    const bool is_trace = !finding.accesses.empty() && finding.accesses[0].event.has_value();
    instances += is_trace ? 1 : finding.instances;
  }
  for (Verdict verdict : {Verdict::kHarmful, Verdict::kBenign, Verdict::kOrdered}) {
    if (counts[static_cast<int>(verdict)] > 0) {
      text += fmt::format(", {} {}", counts[static_cast<int>(verdict)], name_of(verdict));
    }
  }
  if (instances > report.findings.size()) text += fmt::format(" ({} instances)", instances);
  if (report.suppressed > 0) text += fmt::format("; {} suppressed", report.suppressed);
  if (report.incomplete) text += "; incomplete";
  return text;
}

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace deadheat::report
