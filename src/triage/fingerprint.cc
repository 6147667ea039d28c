#include "triage/fingerprint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

namespace deadheat::triage {
namespace {

std::string_view base_name(std::string_view path) {
  std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Clones that an optimiser makes (`f.cold`, `f.constprop.0`, `f() (.llvm.123)`), and what a compiler makes of
// a part of a function (`f.omp_outlined.1`), are the function they were made from. A C name has no dots of
// its own; in a C++ one they may be part of an argument, and what a compiler has appended is in parentheses.
std::string_view without_clone_suffix(std::string_view function) {
  if (std::size_t clone = function.find(" (."); clone != std::string_view::npos)
    return function.substr(0, clone);
  if (function.find_first_of("(<:") != std::string_view::npos) return function;
  return function.substr(0, function.find('.', 1));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Lambdas and unnamed types have the number of their turn (`main::$_1`), which depends on what the optimiser
// left of those before; or their place in the source (`(lambda at src/a.cc:3:5)`), which changes with the
// folder and with every edit above.
std::string without_turns(std::string_view function) {
  static constexpr std::string_view kNumbered[] = {"$_", "_block_invoke_"};
  static constexpr std::string_view kPlaced[] = {"(lambda at ", "(unnamed struct at ", "(unnamed class at ",
                                                 "(unnamed union at ", "(unnamed enum at "};
  const auto starts_with_one_of = [&](const auto& words) {
    for (std::string_view word : words)
      if (function.starts_with(word)) return word;
    return std::string_view();
  };
  std::string text;
  while (!function.empty()) {
    std::size_t taken = 1;
    std::string_view kept = function.substr(0, 1);
    if (std::string_view word = starts_with_one_of(kNumbered); !word.empty()) {
      kept = word.substr(0, word.ends_with("invoke_") ? word.size() - 1 : word.size());
      taken = word.size();
      while (taken < function.size() && is_digit(function[taken])) taken++;
    } else if (std::string_view place = starts_with_one_of(kPlaced); !place.empty()) {
      kept = place.substr(0, place.size() - 4);  // " at "
      taken = std::min(function.find(')', place.size()), function.size());
    }
    text += kept;
    function.remove_prefix(taken);
  }
  return text;
}

void add_place(std::string& text, const report::Location& location) {
  if (!location.place.empty()) {
    text += "place ";
    text += location.place;
    return;
  }
  if (location.function.empty() && location.file.empty()) {
    text += base_name(location.module);
    text += '+';
    text += std::to_string(location.offset);
    return;
  }
  text += without_turns(without_clone_suffix(location.function));
  text += '|';
  text += base_name(location.file);
  text += '|';
  if (location.line > 0) text += std::to_string(location.line - location.function_line);
}

}  // namespace

void fingerprint(std::vector<report::Finding>& findings) {
  std::map<std::string, int> seen;
  for (report::Finding& finding : findings) {
    std::string text = finding.kind == report::Kind::kDataRace ? "data-race" : "high-level-race";
    for (const report::Access& access : finding.accesses) {
      text += '\n';
      add_place(text, access.location);
    }
    if (int number = seen[text]++; number > 0) text += "\n#" + std::to_string(number);
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>(XXH64(text.data(), text.size(), 0)));
    finding.fingerprint = digits;
  }
}

}  // namespace deadheat::triage
