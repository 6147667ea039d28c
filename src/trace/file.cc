#include "trace/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace deadheat {
namespace {

Error system_error(const std::string& path, std::string_view what) {
  return Error{path + ": " + std::string(what) + ": " + std::strerror(errno)};
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
  InputFile file;
  file.path_ = path;
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file.descriptor_ < 0) return system_error(path, "cannot open");
  struct stat status;
  if (::fstat(file.descriptor_, &status) != 0) return system_error(path, "cannot open");
  if (S_ISDIR(status.st_mode)) return Error{path + ": expected a file, found a folder"};
  if (S_ISREG(status.st_mode)) file.size_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      path_(std::move(other.path_)),
      interrupted_(other.interrupted_),
      is_cut_short_(other.is_cut_short_),
      kept_(std::move(other.kept_)),
      ahead_(std::move(other.ahead_)) {}
InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  std::swap(interrupted_, other.interrupted_);
  std::swap(is_cut_short_, other.is_cut_short_);
  std::swap(kept_, other.kept_);
  std::swap(ahead_, other.ahead_);
  return *this;
}
InputFile::~InputFile() {
  if (descriptor_ >= 0 && !is_stream()) ::close(descriptor_);
}

InputFile InputFile::stream(int descriptor, std::string name, const std::atomic<bool>& interrupted,
                            std::shared_ptr<Kept> kept) {
  InputFile file;
  file.descriptor_ = descriptor;
  file.path_ = std::move(name);
  file.interrupted_ = &interrupted;
  file.kept_ = std::move(kept);
  return file;
}

Result<std::string_view> InputFile::peek(std::size_t bytes) {
  if (ahead_.size() < bytes) {
    std::string more(bytes - ahead_.size(), '\0');
    Result<std::size_t> got = read_stream(more);
    if (!got.ok()) return got.error();
    ahead_.append(more, 0, *got);
  }
  return std::string_view(ahead_).substr(0, bytes);
}

// Whoever writes into the pipe may take his time: Ctrl-C must not wait for him.
Result<std::size_t> InputFile::read_stream(std::span<char> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    if (*interrupted_) {
      is_cut_short_ = true;
      break;
    }
    pollfd ready{.fd = descriptor_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 200) == 0) continue;
    const ssize_t n = ::read(descriptor_, out.data() + filled, out.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path_, "cannot read");
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  if (kept_ != nullptr) kept_->is_cut_short = is_cut_short_;
  if (kept_ != nullptr && kept_->is_all) {
    kept_->is_all = kept_->bytes.size() + filled <= kept_->most;
    if (kept_->is_all) {
      kept_->bytes.append(out.data(), filled);
    } else {
      kept_->bytes = {};
    }
  }
  return filled;
}

Result<std::size_t> InputFile::read(std::span<char> out) {
  if (is_stream()) {
    const std::size_t peeked = std::min(out.size(), ahead_.size());
    std::memcpy(out.data(), ahead_.data(), peeked);
    ahead_.erase(0, peeked);
    Result<std::size_t> got = read_stream(out.subspan(peeked));
    if (got.ok()) *got += peeked;
    return got;
  }
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t n = ::read(descriptor_, out.data() + filled, out.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path_, "cannot read");
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  return filled;
}

Result<std::size_t> InputFile::read_at(std::uint64_t offset, std::span<char> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t n =
        ::pread(descriptor_, out.data() + filled, out.size() - filled, static_cast<off_t>(offset + filled));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path_, "cannot read");
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  return filled;
}

namespace {

// A link keeps being one: what it leads to is replaced.
std::string resolved(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string result = real;
  std::free(real);
  return result;
}

}  // namespace

std::string OutputFile::temporary_name(const std::string& path) {
  return resolved(path) + ".part" + std::to_string(::getpid());
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  OutputFile file;
  file.path_ = path;
  if (path == "-") {
    file.path_ = "standard output";
    file.descriptor_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (file.descriptor_ < 0) return system_error(file.path_, "cannot write");
    return file;
  }
  struct stat status;
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return Error{path + ": expected a file, found a folder"};
  const bool direct = exists && !S_ISREG(status.st_mode);
  if (!direct) file.temporary_ = temporary_name(path);
  const std::string& target = direct ? path : file.temporary_;
  file.descriptor_ = ::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file.descriptor_ < 0) {
    const Error error = system_error(path, "cannot create");
    file.temporary_.clear();
    return error;
  }
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})) {}
OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  return *this;
}
OutputFile::~OutputFile() { abandon(); }

void OutputFile::abandon() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(std::exchange(temporary_, {}).c_str());
}

Status OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path_, "cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return Nothing{};
}

Status OutputFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) return system_error(path_, "cannot write");
  if (!temporary_.empty()) {
    if (::rename(temporary_.c_str(), resolved(path_).c_str()) != 0)
      return system_error(path_, "cannot create");
    temporary_.clear();
  }
  return Nothing{};
}

}  // namespace deadheat
