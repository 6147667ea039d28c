#include "cli/trace_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace deadheat::cli {
namespace {

// Everything that comes from `from`; not more once `interrupted`.
Status copy(int from, int to, const std::string& name, const std::atomic<bool>& interrupted) {
  std::vector<char> buffer(1 << 20);
  while (!interrupted) {
    pollfd ready{.fd = from, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, 200) == 0) continue;
    ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{fmt::format("{}: cannot read: {}", name, std::strerror(errno))};
    if (got == 0) break;
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

Result<TraceInput> TraceInput::open(const std::string& name, const std::atomic<bool>& interrupted) {
  TraceInput input;
  input.shown_ = name == "-" ? "standard input" : name;
  input.path_ = name;
  struct stat status{};
  if (name != "-" && (stat(name.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
    return input;
  int from = name == "-" ? STDIN_FILENO : ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return Error{fmt::format("{}: cannot open: {}", name, std::strerror(errno))};
  input.folder_ = std::make_unique<TemporaryFolder>();
  if (input.folder_->path().empty()) return Error{input.folder_->error()};
  input.path_ = input.folder_->path() + "/trace";
  int to = ::open(input.path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  Status status_of_copy =
      to < 0 ? Status(Error{fmt::format("{}: cannot keep a copy: {}", input.shown_, std::strerror(errno))})
             : copy(from, to, input.shown_, interrupted);
  if (to >= 0) ::close(to);
  if (from != STDIN_FILENO) ::close(from);
  if (!status_of_copy) return status_of_copy.error();
  input.cut_short_ = interrupted;
  return input;
}

}  // namespace deadheat::cli
