// Findings for tests, built by hand.
#pragma once

#include <string>
#include <utility>

#include "report/finding.h"

namespace deadheat::report {

inline Location at(std::string file, int line, std::string function = "f()", int column = 3) {
  Location location;
  location.file = std::move(file);
  location.line = line;
  location.column = column;
  location.function = std::move(function);
  location.function_line = 1;
  location.module = "/x/app";
  location.offset = static_cast<std::uint64_t>(line) * 16;
  return location;
}

inline Access access(std::uint32_t thread, Operation operation, Location location) {
  Access access;
  access.thread = thread;
  access.operation = operation;
  access.size = 4;
  access.stack = {location, at("main.cpp", 99, "main")};
  access.location = std::move(location);
  return access;
}

inline Finding race(Access a, Access b) {
  Finding finding;
  finding.detectors = {"fasttrack"};
  finding.threads = {{a.thread, "", 0, {at("main.cpp", 50, "main")}, 0}, {b.thread, "", 0, {}, 0}};
  finding.accesses = {std::move(a), std::move(b)};
  Variable variable;
  variable.name = "balance";
  variable.kind = VariableKind::kGlobal;
  variable.address = 0x4010;
  variable.size = 4;
  variable.declared = at("bank.cpp", 2, "", 0);
  finding.variables = {variable};
  return finding;
}

inline Report report_of(std::vector<Finding> findings) {
  Report report;
  report.mode = "watch";
  report.program.command = {"./bank", "8"};
  report.program.again = "deadheat run -- ./bank 8";
  report.findings = std::move(findings);
  return report;
}

}  // namespace deadheat::report
