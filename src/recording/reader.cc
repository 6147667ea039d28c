#include "recording/reader.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "base/check.h"
#include "recording/description.h"
#include "recording/log_file.h"
#include "recording/whole_file.h"

namespace deadheat::recording {
namespace {

constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{16} << 20;

bool is_missing(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) != 0 && errno == ENOENT;
}

}  // namespace

Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Result<Reader> Reader::open(const std::string& folder) {
  struct stat status{};
  if (stat(folder.c_str(), &status) != 0) return Error{folder + ": cannot be read: " + std::strerror(errno)};
  if (!S_ISDIR(status.st_mode)) return Error{folder + ": expected a recording (a folder), found a file"};

  Reader reader;
  reader.folder_ = folder;
  const std::string description = folder + "/" + kDescriptionFile;
  if (is_missing(description)) {
    return Error{folder + ": not a recording: expected " + kDescriptionFile + " in it, found none"};
  }
  auto text = read_whole_file(description, kMaxJsonBytes);
  if (!text) return text.error();
  auto described = parse_description(*text, description);
  if (!described) return described.error();
  reader.description_ = std::move(*described);

  reader.is_being_written_ = wait_for_writer(folder, 0);
  const std::string log = folder + "/" + kLogFile;
  if (is_missing(log)) return Error{log + ": missing: the recording is not complete"};
  auto opened = LogFile::open(log);
  if (!opened) return opened.error();
  reader.log_ = std::move(*opened);

  auto modules = read_modules(folder);
  if (!modules) return modules.error();
  reader.modules_ = std::move(*modules);

  const std::string end = folder + "/" + kEndFile;
  if (!is_missing(end)) {
    text = read_whole_file(end, kMaxJsonBytes);
    if (!text) return text.error();
    auto ending = parse_ending(*text, end);
    if (!ending) return ending.error();
    reader.ending_ = std::make_unique<Ending>(*ending);
  }
  reader.judge();
  return reader;
}

Result<Reader> Reader::of_log(std::string bytes, const std::string& name) {
  Reader reader;
  reader.folder_ = name;
  auto log = LogFile::of_bytes(std::move(bytes), name);
  if (!log) return log.error();
  reader.log_ = std::move(*log);
  reader.judge();
  return reader;
}

// How complete it is, from the log and end.json together.
void Reader::judge() {
  completeness_ = log_->completeness();
  note_ = log_->note();
  if (ending_ == nullptr) {
    if (completeness_ == Completeness::kComplete) {
      completeness_ = Completeness::kCutShort;
      note_ =
          folder_ +
          (is_being_written_ ? ": still being recorded" : ": cut short: the writer did not get to the end") +
          "; readable up to byte " + std::to_string(log_->readable_bytes()) + " of the log";
    }
    return;
  }
  if (completeness_ == Completeness::kDamaged) return;
  if (log_->readable_bytes() != ending_->log_bytes) {
    completeness_ = Completeness::kDamaged;
    note_ = log_->name() + ": damaged at byte " + std::to_string(log_->readable_bytes()) + ": expected " +
            std::to_string(ending_->log_bytes) + " bytes of chunks as " + kEndFile + " says, found " +
            std::to_string(log_->readable_bytes());
  }
}

bool wait_for_writer(const std::string& folder, unsigned milliseconds) {
  const int log = ::open((folder + "/" + kLogFile).c_str(), O_RDONLY | O_CLOEXEC);
  if (log < 0) return false;
  constexpr unsigned kStep = 10;
  bool is_locked = false;
  for (unsigned waited = 0;; waited += kStep) {
    is_locked = ::flock(log, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!is_locked || waited >= milliseconds) break;
    ::usleep(kStep * 1000);
  }
  ::close(log);
  return is_locked;
}

std::vector<ThreadId> Reader::threads() const {
  std::vector<ThreadId> threads;
  for (const auto& [thread, chunks] : log_->threads()) threads.push_back(thread);
  return threads;
}

std::uint32_t Reader::version() const { return log_->version(); }

bool Reader::has_thread(ThreadId thread) const { return log_->threads().contains(thread); }

const std::vector<Chunk>& Reader::chunks(ThreadId thread) const {
  auto found = log_->threads().find(thread);
  DEADHEAT_CHECK(found != log_->threads().end());
  return found->second;
}

ThreadStream Reader::stream(ThreadId thread) const { return ThreadStream(log_, thread, &chunks(thread)); }

std::vector<const Module*> Reader::distinct_modules() const {
  std::vector<const Module*> modules;
  std::set<ModuleId> seen;
  for (const ModuleLoading& loading : modules_) {
    for (const Module& module : loading.modules) {
      if (seen.insert(module.id).second) modules.push_back(&module);
    }
  }
  return modules;
}

std::uint64_t Reader::log_bytes() const { return log_->readable_bytes(); }
std::uint64_t Reader::chunk_count() const { return log_->chunk_count(); }

}  // namespace deadheat::recording
