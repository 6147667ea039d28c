// The report a developer reads: what raced, where (two stacks), why nothing orders it, how sure, how to see
// it again.
#pragma once

#include <string>

#include "report/finding.h"
#include "report/source.h"

namespace deadheat::report {

struct TerminalOptions {
  bool color = false;
};

// One finding, ending in an empty line. `report` gives the context (the command).
std::string render_terminal(const Report& report, const Finding& finding, SourceCache& sources,
                            const TerminalOptions& options);

// All findings, notes and the summary line.
std::string render_terminal(const Report& report, const TerminalOptions& options);

// The last line: "deadheat: 2 findings in ./bank".
std::string render_terminal_summary(const Report& report, const TerminalOptions& options);

}  // namespace deadheat::report
