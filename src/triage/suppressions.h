// Findings a team has decided not to see, in ThreadSanitizer's syntax, so that existing files work as they
// are.
//
// One suppression a line, `type:pattern`; blank lines and lines that start with `#` are skipped. In a pattern
// `*` stands for any text, `^` at the start and `$` at the end anchor it; without them it may match anywhere.
//
//   race:             a function, file or module on any stack of the finding (accesses, thread creation,
//   allocation), or
//                     the global variable
//   race_top:         the same, but only where an access is: the innermost frame and the place that is
//   reported called_from_lib:  an access made by this library on its own: its module or file is the first on
//   the stack, after
//                     calls that the runtime stands in for (memcpy, ...)
//   thread, mutex, deadlock, signal: reports that Deadheat does not make; accepted, and never counted as
//   unused
//
// Modules are matched by path, so suppressions work on stripped binaries too. Where two readings of a pattern
// are possible, ours finds the match that theirs overlooks: `race:foo$` matches `foofoo`.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/finding.h"

namespace deadheat::triage {

enum class SuppressionType { kRace, kRaceTop, kCalledFromLib, kThread, kMutex, kDeadlock, kSignal };

struct Suppression {
  SuppressionType type = SuppressionType::kRace;
  std::string pattern;
  std::string file;  // where it was written
  int line = 0;
  std::uint64_t findings = 0;  // how many it took away
};

class Suppressions {
 public:
  // Adds the suppressions of a file. An error names file and line; nothing is added then.
  Status load(const std::string& path);
  Status parse(std::string_view text, const std::string& path);
  // Those that a program has within itself. Each text once; what cannot be read is left out, and what matches
  // nothing is nobody's concern.
  void take_programs_own(const std::string& text);

  // The first suppression that matches, counted; nullptr if the finding stays.
  const Suppression* match(const report::Finding& finding);

  // Takes suppressed findings out of the list; their number is the result.
  std::uint64_t apply(std::vector<report::Finding>& findings);

  bool empty() const { return all_.empty(); }
  const std::vector<Suppression>& all() const { return all_; }
  // Those that matched nothing and could have.
  std::vector<const Suppression*> unused() const;

 private:
  std::vector<Suppression> all_;
  std::set<std::string> programs_own_;
};

// "race:foo*".
std::string text_of(const Suppression& suppression);

bool pattern_matches(std::string_view pattern, std::string_view text);

}  // namespace deadheat::triage
