// Lines of source files for excerpts, read once each. A file that cannot be read, or that changed after the
// program was built, simply has no lines: a wrong excerpt misleads.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/finding.h"

namespace deadheat::report {

struct Excerpt {
  int first_line = 0;
  std::vector<std::string> lines;  // tabs expanded, control characters and broken UTF-8 replaced
  int caret = -1;  // column of the place within its line, counted from 0 in characters shown; -1 if unknown
};

class SourceCache {
 public:
  // The line of the location and `around` more on both sides; no lines if there is nothing to show.
  Excerpt excerpt(const Location& location, int around);

 private:
  const std::vector<std::string>& file(const Location& location);

  std::map<std::pair<std::string, std::string>, std::vector<std::string>> files_;
};

// What may be shown on a terminal or put into a report: control characters and bytes that are not UTF-8 are
// replaced.
std::string printable(std::string_view text);

}  // namespace deadheat::report
