// SARIF 2.1.0, for GitHub code scanning, Azure DevOps, editors and every other viewer of static analysis
// results.
//
// A finding is one result: its place is the first access, the second and the variable are related locations,
// and each access is a thread flow from the thread's start down to the access. `partialFingerprints` carries
// our fingerprint, so that a viewer recognises a finding again after the code around it moved. Kept within
// what GitHub shows: 5,000 results, 100 frames a flow; what is left out is said in a notification.
#pragma once

#include <string>

#include "report/finding.h"

namespace deadheat::report {

// Absolute paths below `source_root` (an absolute path, may be empty) are made relative to it, as viewers
// expect.
std::string render_sarif(const Report& report, const std::string& source_root);

}  // namespace deadheat::report
