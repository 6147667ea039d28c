// Running an instrumented program with its findings collected: what `run` and `check` have in common.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/process.h"
#include "cli/reporting.h"
#include "report/finding.h"
#include "triage/suppressions.h"

namespace deadheat::cli {

struct Watching {
  ProgramStart program;
  std::string options;  // for the runtime, besides where its log goes
  std::string mode;     // the lane that was asked for, or empty
  // Findings are printed as they are written to the log: what runs for weeks is not to be waited for.
  Reporting* tell = nullptr;
};

struct Watched {
  ProgramEnd end;
  bool any_log = false;  // something instrumented ran
  report::Report report;
};

// Runs the program to its end, then reads what it and its children found. `folder` is private to this run.
Result<Watched> watch(const Watching& watching, const std::string& folder,
                      triage::Suppressions& suppressions);

}  // namespace deadheat::cli
