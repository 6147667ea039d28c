// Deadheat's binary traces, streamed: reader and writer. FORMAT.md describes the format.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/file.h"
#include "trace/trace.h"

namespace deadheat {

class BinarySource : public TraceSource {
 public:
  // Continues reading at the event with this number; names() then holds all names up to there. Works without
  // the index at the file's end, too, but reads all headers then.
  virtual Status seek(EventIndex event) = 0;
};

bool is_binary_trace(const std::string& path);
Result<bool> starts_binary_trace(InputFile& stream);
// Are these the first bytes of one, be they ever so few?
bool starts_binary_trace(std::string_view bytes);
// From where the file stands; if it is a stream, seek() is not for it.
Result<std::unique_ptr<BinarySource>> open_binary(InputFile file, const std::string& shown);
Result<std::unique_ptr<BinarySource>> open_binary(const std::string& path, const std::string& shown = {});
// A source over bytes in memory; `name` stands for the file in messages.
Result<std::unique_ptr<BinarySource>> binary_source_of(std::string bytes, std::string name);

// A whole trace in memory as the bytes of a file.
Status write_binary(const Trace& trace, std::string& bytes);

Result<std::unique_ptr<TraceSink>> create_binary(const std::string& path, const WriteOptions& options);

}  // namespace deadheat
