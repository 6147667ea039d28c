// A trace named on the command line.
//
// A regular file is read where it is, as often as wanted. Of anything else (`-` for standard input, a pipe)
// it depends on what it is read for. Choosing detectors, predicting and spelling out witnesses go over the
// trace more than once: it is copied into a temporary file first, as it comes, which must fit what copies may
// take. What needs it once, and only would like to see it again, streams it, however long it is, and has a
// second look if it was short enough to keep in memory.
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
  enum class Readings { kOne, kMore };
  static constexpr std::uint64_t kMostCopied = std::uint64_t{8} << 30;

  // `interrupted`: ends standard input or a pipe; what came until then is the trace. Outlives this object.
  static Result<TraceInput> open(const std::string& name, const std::atomic<bool>& interrupted,
                                 Readings readings, std::uint64_t most_copied = kMostCopied);

  // From its start, as often as wanted; of a stream the second time an error if it was long, or is not over.
  // Messages say the name that the user gave.
  Result<std::unique_ptr<TraceSource>> read() const;
  Result<std::unique_ptr<TraceSource>> read_checked() const;
  // Can it be read again?
  bool is_kept() const { return stream_ == nullptr || stream_->kept->is_all; }
  const std::string& shown() const { return shown_; }
  // The copying was interrupted.
  bool cut_short() const { return cut_short_; }

 private:
  std::string path_;
  std::string shown_;
  std::unique_ptr<TemporaryFolder> folder_;
  bool cut_short_ = false;
  struct Stream {
    ~Stream();
    int descriptor = -1;
    bool is_read = false;
    const std::atomic<bool>* interrupted = nullptr;
    std::shared_ptr<InputFile::Kept> kept;
  };
  std::shared_ptr<Stream> stream_;
};

}  // namespace deadheat::cli
