#include "trace/std_text.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "trace/file.h"
#include "trace/std_parser.h"

namespace deadheat {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

// Reads lines from a buffer that grows only for a line longer than it, up to kMaxLineBytes.
class StdSource final : public TraceSource {
 public:
  StdSource(InputFile file, std::string name)
      : file_(std::make_unique<InputFile>(std::move(file))), name_(std::move(name)), parser_(names_) {
    buffer_.resize(kBufferBytes);
  }
  StdSource(std::string text, std::string name) : name_(std::move(name)), parser_(names_) {
    buffer_.reserve(text.size() + 1);  // so that there is memory to point to even for no text
    buffer_.assign(text.begin(), text.end());
    filled_ = buffer_.size();
    at_end_ = true;
  }

  const Names& names() const override { return names_; }

  Result<std::size_t> read(std::span<Event> out) override {
    std::size_t count = 0;
    while (count < out.size()) {
      std::string_view line;
      Result<bool> more = next_line(line);
      if (!more.ok()) return more.error();
      if (!*more) break;
      if (line_ < std::numeric_limits<std::uint32_t>::max()) ++line_;
      if (line_ == 1 && line.starts_with(kEncodingMark)) line.remove_prefix(kEncodingMark.size());
      Result<bool> parsed = parse(line, out[count]);
      if (!parsed.ok()) return at_line(parsed.error().message);
      if (*parsed) ++count;
    }
    return count;
  }

  double progress() const override {
    if (file_ == nullptr || file_->size() == 0) return -1;
    return static_cast<double>(consumed_) / static_cast<double>(file_->size());
  }

 private:
  // Names may be more than this machine has memory for, or this process may use, long before they are more
  // than a trace may have.
  Result<bool> parse(std::string_view line, Event& event) {
    try {
      return parser_.parse(line, line_, event);
    } catch (const std::bad_alloc&) {
      return Error{"expected memory for the names of the trace, found " + std::to_string(names_.bytes()) +
                   " bytes of them and no more memory"};
    }
  }

  Error at_line(const std::string& message) const {
    return Error{name_ + ":" + std::to_string(line_) + ": " + message};
  }

  Result<bool> next_line(std::string_view& line) {
    std::size_t searched = start_;
    while (true) {
      const void* end = std::memchr(buffer_.data() + searched, '\n', filled_ - searched);
      if (end != nullptr) {
        const std::size_t stop = static_cast<std::size_t>(static_cast<const char*>(end) - buffer_.data());
        line = std::string_view(buffer_.data() + start_, stop - start_);
        consumed_ += stop + 1 - start_;
        start_ = stop + 1;
        return true;
      }
      if (at_end_) {
        // Of a line that was still on its way nobody knows what it would have been.
        if (start_ == filled_ || (file_ != nullptr && file_->is_cut_short())) return false;
        line = std::string_view(buffer_.data() + start_, filled_ - start_);
        consumed_ += filled_ - start_;
        start_ = filled_;
        return true;
      }
      if (filled_ - start_ > kMaxLineBytes) {
        ++line_;
        return at_line("expected a line of at most " + std::to_string(kMaxLineBytes) +
                       " bytes, found a longer one");
      }
      std::memmove(buffer_.data(), buffer_.data() + start_, filled_ - start_);
      filled_ -= start_;
      start_ = 0;
      searched = filled_;
      if (filled_ * 2 > buffer_.size()) buffer_.resize(buffer_.size() * 2);
      Result<std::size_t> got = file_->read(std::span(buffer_).subspan(filled_));
      if (!got.ok()) return got.error();
      at_end_ = *got < buffer_.size() - filled_;
      filled_ += *got;
    }
  }

  std::unique_ptr<InputFile> file_;
  std::string name_;
  Names names_;
  StdParser parser_;
  std::vector<char> buffer_;
  std::size_t start_ = 0;
  std::size_t filled_ = 0;
  bool at_end_ = false;
  std::uint64_t consumed_ = 0;
  std::uint32_t line_ = 0;
};

// `most_members`: of a reachable set, the rest being "...".
void append_operation(const Names& names, const Event& event, bool extended, std::size_t most_members,
                      std::string& out) {
  out += kStdWords[static_cast<int>(event.kind)];
  if (names.table(event.kind) != nullptr) {
    out += '(';
    out += names.object(event);
    if (event.kind == EventKind::kEnter) {
      char mark = ';';
      for (const ObjectId member : names.reachable.at(static_cast<std::uint32_t>(event.value))) {
        out += std::exchange(mark, ',');
        if (most_members-- == 0) {
          out += "...";
          break;
        }
        out += names.locations.name(static_cast<std::uint32_t>(member.value()));
      }
    }
    out += ')';
  }
  if (extended && event.has_value) {
    out += '=';
    out += std::to_string(static_cast<std::int64_t>(event.value));
  }
}

void append_line(const Names& names, const Event& event, bool extended, std::string& out) {
  out += names.thread(event.thread);
  out += '|';
  append_operation(names, event, extended, std::numeric_limits<std::size_t>::max(), out);
  out += '|';
  out += names.site(event.site);
}

class StdSink final : public TraceSink {
 public:
  StdSink(OutputFile file, bool extended) : file_(std::move(file)), extended_(extended) {}

  Status write(const Names& names, std::span<const Event> events) override {
    for (const Event& event : events) {
      if (!extended_ && static_cast<int>(event.kind) >= static_cast<int>(EventKind::kBranch)) {
        ++left_out_;
        continue;
      }
      values_left_out_ += !extended_ && event.has_value;
      append_line(names, event, extended_, buffer_);
      buffer_ += '\n';
      if (buffer_.size() >= kBufferBytes) {
        if (Status status = flush(); !status.ok()) return status;
      }
    }
    return Nothing{};
  }

  Status close(const Names&) override {
    if (Status status = flush(); !status.ok()) return status;
    return file_.close();
  }

  std::uint64_t left_out() const override { return left_out_; }
  std::uint64_t values_left_out() const override { return values_left_out_; }

 private:
  Status flush() {
    Status status = file_.write(buffer_);
    buffer_.clear();
    return status;
  }

  OutputFile file_;
  bool extended_;
  std::string buffer_;
  std::uint64_t left_out_ = 0;
  std::uint64_t values_left_out_ = 0;
};

}  // namespace

Result<std::unique_ptr<TraceSource>> open_std(const std::string& path, const std::string& shown) {
  Result<InputFile> file = InputFile::open(path);
  if (!file.ok()) return file.error();
  return open_std(std::move(*file), shown);
}

Result<std::unique_ptr<TraceSource>> open_std(InputFile file, const std::string& shown) {
  return std::unique_ptr<TraceSource>(std::make_unique<StdSource>(std::move(file), shown));
}

std::unique_ptr<TraceSource> std_source_of(std::string text, std::string name) {
  return std::make_unique<StdSource>(std::move(text), std::move(name));
}

Result<std::unique_ptr<TraceSink>> create_std(const std::string& path, const WriteOptions& options) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  return std::unique_ptr<TraceSink>(std::make_unique<StdSink>(std::move(*file), options.extended));
}

std::string to_std_line(const Names& names, const Event& event) {
  std::string line;
  append_line(names, event, true, line);
  return line;
}

std::string to_std_operation(const Names& names, const Event& event, std::size_t most_members) {
  std::string operation;
  append_operation(names, event, true, most_members, operation);
  return operation;
}

}  // namespace deadheat
