// A trace named on the command line. Reading goes over a trace more than once (to choose detectors, to spell
// out witnesses), so whatever is no regular file (`-` for standard input, a pipe) is copied into a temporary
// one first, as it comes.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/result.h"
#include "cli/signals.h"
#include "trace/checker.h"
#include "trace/trace.h"

namespace deadheat::cli {

class TraceInput {
 public:
  // `interrupted`: ends the copying of standard input or a pipe; what came until then is the trace.
  static Result<TraceInput> open(const std::string& name, const std::atomic<bool>& interrupted);

  // From its start, as often as wanted. Messages say the name that the user gave.
  Result<std::unique_ptr<TraceSource>> read() const { return open_trace(path_, shown_); }
  Result<std::unique_ptr<TraceSource>> read_checked() const { return open_checked_trace(path_, shown_); }
  const std::string& shown() const { return shown_; }
  // The copying was interrupted.
  bool cut_short() const { return cut_short_; }

 private:
  std::string path_;
  std::string shown_;
  std::unique_ptr<TemporaryFolder> folder_;
  bool cut_short_ = false;
};

}  // namespace deadheat::cli
