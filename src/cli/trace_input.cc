#include "cli/trace_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "trace/binary.h"

namespace deadheat::cli {
namespace {

constexpr std::size_t kMostKept = std::size_t{64} << 20;

// What a copy may take: not the last of the disk, which others need as well.
std::uint64_t room_for_copy(int file, std::uint64_t most) {
  struct statvfs disk{};
  if (fstatvfs(file, &disk) != 0) return most;
  return std::min<std::uint64_t>(most, static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize / 10 * 9);
}

// What was interrupted in the middle of a line: that line is left out, nobody knows what it would have been.
void drop_partial_line(int file) {
  std::vector<char> buffer(1 << 16);
  for (off_t end = lseek(file, 0, SEEK_END); end > 0;) {
    const off_t start = std::max<off_t>(0, end - static_cast<off_t>(buffer.size()));
    const ssize_t got = pread(file, buffer.data(), static_cast<std::size_t>(end - start), start);
    if (got <= 0) return;
    const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
    const std::size_t newline = text.rfind('\n');
    end = newline == std::string_view::npos ? start : start + static_cast<off_t>(newline) + 1;
    if (ftruncate(file, end) != 0 || newline != std::string_view::npos) return;
  }
}

// Everything that comes from `from`; not more once `interrupted`, and then not a part of a line.
Status copy(int from, int to, const std::string& name, const std::atomic<bool>& interrupted,
            std::uint64_t most) {
  std::vector<char> buffer(1 << 20);
  std::string start;  // enough to tell a binary trace
  std::uint64_t copied = 0;
  while (true) {
    if (interrupted) {
      if (!starts_binary_trace(start)) drop_partial_line(to);
      break;
    }
    pollfd ready{.fd = from, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, 200) == 0) continue;
    ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{fmt::format("{}: cannot read: {}", name, std::strerror(errno))};
    if (got == 0) break;
    copied += static_cast<std::uint64_t>(got);
    if (start.size() < 64)
      start.append(buffer.data(), std::min<std::size_t>(64, static_cast<std::size_t>(got)));
    if (copied > most) {
      return Error{fmt::format(
          "{}: expected at most {} MiB, which a temporary copy may take, found more: --copy-limit says how "
          "much it may take; --detectors fasttrack, hb, shb, wcp, lockset and hybrid need no copy",
          name, most >> 20)};
    }
    for (ssize_t done = 0; done < got;) {
      ssize_t put = ::write(to, buffer.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return Error{fmt::format("{}: cannot keep a copy: {}", name, std::strerror(errno))};
      done += put;
    }
  }
  return Nothing{};
}

}  // namespace

TraceInput::Stream::~Stream() {
  if (descriptor > STDIN_FILENO) ::close(descriptor);
}

Result<TraceInput> TraceInput::open(const std::string& name, const std::atomic<bool>& interrupted,
                                    Readings readings, std::uint64_t most_copied) {
  TraceInput input;
  input.shown_ = name == "-" ? "standard input" : name;
  input.path_ = name;
  struct stat status{};
  if (name != "-" && (stat(name.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
    return input;
  int from = name == "-" ? STDIN_FILENO : ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return Error{fmt::format("{}: cannot open: {}", name, std::strerror(errno))};
  if (readings == Readings::kOne) {
    input.stream_ = std::make_shared<Stream>();
    input.stream_->descriptor = from;
    input.stream_->interrupted = &interrupted;
    input.stream_->kept = std::make_shared<InputFile::Kept>();
    input.stream_->kept->most = kMostKept;
    return input;
  }
  input.folder_ = std::make_unique<TemporaryFolder>();
  if (input.folder_->path().empty()) return Error{input.folder_->error()};
  input.path_ = input.folder_->path() + "/trace";
  int to = ::open(input.path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  Status status_of_copy =
      to < 0 ? Status(Error{fmt::format("{}: cannot keep a copy: {}", input.shown_, std::strerror(errno))})
             : copy(from, to, input.shown_, interrupted, room_for_copy(to, most_copied));
  if (to >= 0) ::close(to);
  if (from != STDIN_FILENO) ::close(from);
  if (!status_of_copy) return status_of_copy.error();
  input.cut_short_ = interrupted;
  return input;
}

Result<std::unique_ptr<TraceSource>> TraceInput::read() const {
  if (stream_ == nullptr) return open_trace(path_, shown_);
  if (!stream_->is_read) {
    stream_->is_read = true;
    return open_trace_stream(
        InputFile::stream(stream_->descriptor, shown_, *stream_->interrupted, stream_->kept), shown_);
  }
  if (!is_kept()) return Error{fmt::format("{}: expected to be read once, found another wish", shown_)};
  const std::string& bytes = stream_->kept->bytes;
  if (!stream_->kept->is_cut_short || starts_binary_trace(bytes)) return open_trace_bytes(bytes, shown_);
  return open_trace_bytes(bytes.substr(0, bytes.rfind('\n') + 1), shown_);
}

Result<std::unique_ptr<TraceSource>> TraceInput::read_checked() const {
  auto source = read();
  if (!source) return source;
  return checked(std::move(*source), shown_);
}

}  // namespace deadheat::cli
