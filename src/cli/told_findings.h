// What was told of each finding while a program runs, and what is new about it.
//
// A report has one finding for two places, and names every variable that raced there. Whoever prints findings
// as they happen knows one variable at that time; a line for each further one makes up for it.
#pragma once

#include <map>
#include <string>

#include "report/finding.h"

namespace deadheat::cli {

class ToldFindings {
 public:
  enum class News { kNothing, kFinding, kVariable };
  // REQUIRES: the instance's accesses are ordered.
  News add(const report::Finding& instance);
  bool contains(const std::string& identity) const { return told_.contains(identity); }
  // "deadheat: the same places race on second (global, 8 bytes, a.cc:2) as well [6726bca2ce094cb0]".
  static std::string variable_line(const report::Finding& instance);

 private:
  std::map<std::string, report::Finding> told_;  // by report::identity_of
};

}  // namespace deadheat::cli
