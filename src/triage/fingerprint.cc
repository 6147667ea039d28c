#include "triage/fingerprint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

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

// Clones that an optimiser makes (`f.cold`, `f.constprop.0`, `f (.llvm.123)`) are the function they were made
// from.
std::string_view without_clone_suffix(std::string_view function) {
  if (std::size_t clone = function.find(" (."); clone != std::string_view::npos)
    return function.substr(0, clone);
  for (std::string_view suffix : {".llvm.", ".constprop.", ".isra.", ".part.", ".cold", ".__uniq."}) {
    if (std::size_t at = function.find(suffix); at != std::string_view::npos) return function.substr(0, at);
  }
  return function;
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
  text += without_clone_suffix(location.function);
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
