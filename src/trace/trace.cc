#include "trace/trace.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "trace/binary.h"
#include "trace/std_text.h"

namespace deadheat {
namespace {

constexpr std::size_t kBatch = 4096;

class MemorySource final : public TraceSource {
 public:
  explicit MemorySource(const Trace& trace) : trace_(trace) {}
  const Names& names() const override { return trace_.names; }
  Result<std::size_t> read(std::span<Event> out) override {
    const std::size_t count = std::min(out.size(), trace_.events.size() - position_);
    std::copy_n(trace_.events.begin() + static_cast<std::ptrdiff_t>(position_), count, out.begin());
    position_ += count;
    return count;
  }
  std::string note() const override { return trace_.note; }
  std::optional<std::uint64_t> total_events() const override { return trace_.events.size(); }
  double progress() const override {
    return trace_.events.empty() ? 1
                                 : static_cast<double>(position_) / static_cast<double>(trace_.events.size());
  }

 private:
  const Trace& trace_;
  std::size_t position_ = 0;
};

bool ends_with(const std::string& path, std::string_view suffix) {
  return path.size() > suffix.size() && std::string_view(path).substr(path.size() - suffix.size()) == suffix;
}

// Nothing, or bytes that no line has: damaged, under a binary trace's name.
bool is_no_text(const std::string& path) {
  Result<InputFile> file = InputFile::open(path);
  if (!file.ok()) return false;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  char start[64];
  Result<std::size_t> got = file->read_at(0, start);
  if (!got.ok()) return false;
  const auto is_control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r' && c != '\n';
  };
  return *got == 0 || std::any_of(start, start + *got, is_control);
}

}  // namespace

Result<bool> TraceSource::next(Event& event) {
  if (position_ == filled_) {
    buffer_.resize(kBatch);
    Result<std::size_t> got = read(buffer_);
    if (!got.ok()) return got.error();
    position_ = 0;
    filled_ = *got;
    if (filled_ == 0) return false;
  }
  event = buffer_[position_++];
  return true;
}

Result<std::unique_ptr<TraceSource>> open_trace(const std::string& path, const std::string& shown) {
  // What is in the file decides, not its name; unless it is neither. A cut-off header is still a binary
  // trace's, and says so.
  const std::string& name = shown.empty() ? path : shown;
  if (!is_binary_trace(path) && !(ends_with(path, ".dht") && is_no_text(path))) return open_std(path, name);
  Result<std::unique_ptr<BinarySource>> source = open_binary(path, name);
  if (!source.ok()) return source.error();
  return std::unique_ptr<TraceSource>(std::move(*source));
}

Result<std::unique_ptr<TraceSource>> open_trace_stream(InputFile stream, const std::string& shown) {
  Result<bool> is_binary = starts_binary_trace(stream);
  if (!is_binary.ok()) return is_binary.error();
  if (!*is_binary) return open_std(std::move(stream), shown);
  Result<std::unique_ptr<BinarySource>> source = open_binary(std::move(stream), shown);
  if (!source.ok()) return source.error();
  return std::unique_ptr<TraceSource>(std::move(*source));
}

Result<std::unique_ptr<TraceSource>> open_trace_bytes(const std::string& bytes, const std::string& shown) {
  if (!starts_binary_trace(bytes)) return std_source_of(bytes, shown);
  Result<std::unique_ptr<BinarySource>> source = binary_source_of(bytes, shown);
  if (!source.ok()) return source.error();
  return std::unique_ptr<TraceSource>(std::move(*source));
}

Result<std::unique_ptr<TraceSink>> create_trace(const std::string& path, const WriteOptions& options) {
  if (path == "-" || ends_with(path, ".std")) return create_std(path, options);
  if (ends_with(path, ".dht")) return create_binary(path, options);
  return Error{path +
               ": expected a name that ends in .std (text) or .dht (binary), or - for text on "
               "standard output"};
}

Result<Trace> read_all(TraceSource& source) {
  Trace trace;
  std::vector<Event> buffer(kBatch);
  while (true) {
    Result<std::size_t> got = source.read(buffer);
    if (!got.ok()) return got.error();
    if (*got == 0) break;
    trace.events.insert(trace.events.end(), buffer.begin(),
                        buffer.begin() + static_cast<std::ptrdiff_t>(*got));
  }
  trace.names = source.names();
  trace.note = source.note();
  return trace;
}

Result<Trace> read_trace(const std::string& path) {
  Result<std::unique_ptr<TraceSource>> source = open_trace(path);
  if (!source.ok()) return source.error();
  return read_all(**source);
}

std::unique_ptr<TraceSource> source_of(const Trace& trace) { return std::make_unique<MemorySource>(trace); }

}  // namespace deadheat
