// From all logs of a run to its report: resolve, suppress, merge.
#pragma once

#include <vector>

#include "report/finding.h"
#include "report/raw.h"
#include "report/symbolizer.h"
#include "triage/suppressions.h"

namespace deadheat::report {

// A report of what the logs say; the caller adds the program. Suppressions see instances, before they are
// merged: a race that is also reached by a path that nobody suppressed stays.
Report collect(const std::vector<RawLog>& logs, Symbolizer& symbolizer, triage::Suppressions& suppressions);

// The same for instances of any origin: a trace's detectors, a replay. Sets findings and suppressed, adds
// notes.
void add_findings(Report& report, std::vector<Finding> instances, triage::Suppressions& suppressions);

}  // namespace deadheat::report
