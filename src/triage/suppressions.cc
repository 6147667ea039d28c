#include "triage/suppressions.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

namespace deadheat::triage {
namespace {

using report::Access;
using report::Finding;
using report::Location;
using report::Stack;

constexpr std::pair<std::string_view, SuppressionType> kTypes[] = {
    {"race", SuppressionType::kRace},
    {"race_top", SuppressionType::kRaceTop},
    {"called_from_lib", SuppressionType::kCalledFromLib},
    {"thread", SuppressionType::kThread},
    {"mutex", SuppressionType::kMutex},
    {"deadlock", SuppressionType::kDeadlock},
    {"signal", SuppressionType::kSignal},
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool frame_matches(std::string_view pattern, const Location& frame) {
  return pattern_matches(pattern, frame.function) || pattern_matches(pattern, frame.file) ||
         pattern_matches(pattern, frame.module) || pattern_matches(pattern, frame.place);
}

bool stack_matches(std::string_view pattern, const Stack& stack) {
  return std::any_of(stack.begin(), stack.end(),
                     [&](const Location& frame) { return frame_matches(pattern, frame); });
}

bool race_matches(std::string_view pattern, const Finding& finding) {
  for (const Access& access : finding.accesses) {
    if (stack_matches(pattern, access.stack) || frame_matches(pattern, access.location)) return true;
  }
  for (const report::Thread& thread : finding.threads) {
    if (stack_matches(pattern, thread.created)) return true;
  }
  for (const report::Variable& variable : finding.variables) {
    if (pattern_matches(pattern, variable.name) || frame_matches(pattern, variable.declared) ||
        stack_matches(pattern, variable.allocated)) {
      return true;
    }
  }
  return false;
}

bool top_matches(std::string_view pattern, const Finding& finding) {
  return std::any_of(finding.accesses.begin(), finding.accesses.end(), [&](const Access& access) {
    return frame_matches(pattern, access.location) ||
           (!access.stack.empty() && frame_matches(pattern, access.stack.front()));
  });
}

bool called_from_matches(std::string_view pattern, const Finding& finding) {
  return std::any_of(finding.accesses.begin(), finding.accesses.end(), [&](const Access& access) {
    for (const Location& frame : access.stack) {
      // A call that the runtime stands in for has no place of its own.
      if (frame.file.empty() && frame.offset == 0) continue;
      return pattern_matches(pattern, frame.module) || pattern_matches(pattern, frame.file);
    }
    return false;
  });
}

bool matches(const Suppression& suppression, const Finding& finding) {
  switch (suppression.type) {
    case SuppressionType::kRace:
      return race_matches(suppression.pattern, finding);
    case SuppressionType::kRaceTop:
      return top_matches(suppression.pattern, finding);
    case SuppressionType::kCalledFromLib:
      return called_from_matches(suppression.pattern, finding);
    case SuppressionType::kThread:
    case SuppressionType::kMutex:
    case SuppressionType::kDeadlock:
    case SuppressionType::kSignal:
      return false;
  }
  return false;
}

}  // namespace

bool pattern_matches(std::string_view pattern, std::string_view text) {
  if (text.empty()) return false;
  bool at_start = pattern.starts_with('^');
  if (at_start) pattern.remove_prefix(1);
  bool at_end = pattern.ends_with('$');
  if (at_end) pattern.remove_suffix(1);

  // Pieces between asterisks, leftmost match each; the last one goes to the end if it is anchored there. That
  // is exact: an earlier match of a piece never excludes a match of the rest.
  bool is_first = true;
  while (true) {
    std::size_t star = pattern.find('*');
    std::string_view piece = pattern.substr(0, star);
    bool is_last = star == std::string_view::npos;
    bool anchored_start = is_first && at_start;
    if (is_last && at_end) {
      return anchored_start ? text == piece : text.ends_with(piece);
    }
    if (anchored_start) {
      if (!text.starts_with(piece)) return false;
      text.remove_prefix(piece.size());
    } else {
      std::size_t found = text.find(piece);
      if (found == std::string_view::npos) return false;
      text.remove_prefix(found + piece.size());
    }
    if (is_last) return true;
    pattern.remove_prefix(star + 1);
    is_first = false;
  }
}

Status Suppressions::load(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in) return Error{path + ": cannot be read: " + std::strerror(errno)};
  text << in.rdbuf();
  if (in.bad() || (text.tellp() <= 0 && errno == EISDIR)) {
    return Error{path + ": cannot be read: " + std::strerror(errno)};
  }
  return parse(text.str(), path);
}

Status Suppressions::parse(std::string_view text, const std::string& path) {
  std::vector<Suppression> found;
  int number = 0;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    number++;
    if (line.empty() || line[0] == '#') continue;
    auto fail = [&](const std::string& what) {
      std::string message = path;
      return Error{message.append(":").append(std::to_string(number)).append(": ").append(what)};
    };
    std::size_t colon = line.find(':');
    std::string_view name = trimmed(line.substr(0, colon));
    const auto* type =
        std::find_if(std::begin(kTypes), std::end(kTypes), [&](auto& t) { return t.first == name; });
    if (colon == std::string_view::npos || type == std::end(kTypes)) {
      return fail(
          "expected \"type:pattern\" with type race, race_top, called_from_lib, thread, mutex, deadlock or "
          "signal, "
          "found \"" +
          std::string(line.substr(0, 80)) + "\"");
    }
    std::string_view pattern = trimmed(line.substr(colon + 1));
    if (pattern.empty())
      return fail("expected a pattern after \"" + std::string(name) + ":\", found nothing");
    found.push_back({type->second, std::string(pattern), path, number, 0});
  }
  all_.insert(all_.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  return Nothing{};
}

const Suppression* Suppressions::match(const Finding& finding) {
  for (Suppression& suppression : all_) {
    if (matches(suppression, finding)) {
      suppression.findings++;
      return &suppression;
    }
  }
  return nullptr;
}

std::uint64_t Suppressions::apply(std::vector<Finding>& findings) {
  return std::erase_if(findings, [&](const Finding& finding) { return match(finding) != nullptr; });
}

void Suppressions::take_programs_own(const std::string& text) {
  if (text.empty() || !programs_own_.insert(text).second) return;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    (void)parse(rest.substr(0, end), "");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

std::vector<const Suppression*> Suppressions::unused() const {
  std::vector<const Suppression*> result;
  for (const Suppression& suppression : all_) {
    if (suppression.file.empty()) continue;  // the program's own
    bool could_match = suppression.type == SuppressionType::kRace ||
                       suppression.type == SuppressionType::kRaceTop ||
                       suppression.type == SuppressionType::kCalledFromLib;
    if (could_match && suppression.findings == 0) result.push_back(&suppression);
  }
  return result;
}

std::string text_of(const Suppression& suppression) {
  const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](auto& t) { return t.second == suppression.type; });
  return std::string(type->first) + ":" + suppression.pattern;
}

}  // namespace deadheat::triage
