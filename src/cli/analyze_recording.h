// deadheat analyze RECORDING: the detectors on a replay instead of a trace.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/progress.h"
#include "detect/detector.h"
#include "report/finding.h"
#include "triage/suppressions.h"

namespace deadheat::cli {

struct RecordingAnalysis {
  std::string folder;
  std::vector<std::string> detectors;  // pipelines, as for traces; none: as the recording needs
  detect::Options options;
};

// Is it a folder that looks like a recording?
bool is_recording(const std::string& path);

// Replays three times: to see how memory is accessed, to detect, and to look at the accesses that race. A
// divergence is an error: no analysis goes on with a replay that is not the recorded run.
Result<report::Report> analyze_recording(const RecordingAnalysis& analysis,
                                         triage::Suppressions& suppressions, Progress& progress);

}  // namespace deadheat::cli
