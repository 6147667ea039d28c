// The STD text format, streamed: reader and writer. docs/traces.md describes the format.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/file.h"
#include "trace/trace.h"

namespace deadheat {

Result<std::unique_ptr<TraceSource>> open_std(const std::string& path, const std::string& shown);
Result<std::unique_ptr<TraceSource>> open_std(InputFile file, const std::string& shown);
// A source over text in memory; `name` stands for the file in messages.
std::unique_ptr<TraceSource> std_source_of(std::string text, std::string name);

Result<std::unique_ptr<TraceSink>> create_std(const std::string& path, const WriteOptions& options);

// One event as a line of extended STD, without the line's end.
std::string to_std_line(const Names& names, const Event& event);
// The second field of that line. A reachable set of more than `most_members` ends with "...".
std::string to_std_operation(const Names& names, const Event& event, std::size_t most_members);

}  // namespace deadheat
