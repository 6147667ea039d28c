#include "cli/reporting.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/command.h"
#include "cli/signals.h"
#include "report/html.h"
#include "report/json.h"
#include "report/sarif.h"
#include "report/terminal.h"

namespace deadheat::cli {
namespace {

// All of it, or an errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

Error cannot_be_written(const std::string& path, int error) {
  return Error{fmt::format("{}: cannot be written: {}", path, std::strerror(error))};
}

}  // namespace

Result<std::unique_ptr<ReportFile>> ReportFile::open(const std::string& path) {
  if (path == "-") {
    // A closed standard output (see main) must fail now, not after an hour of running.
    if ((fcntl(STDOUT_FILENO, F_GETFD) & FD_CLOEXEC) != 0)
      return Error{"standard output: cannot be written: it is closed"};
    return std::unique_ptr<ReportFile>(new ReportFile("", "", STDOUT_FILENO));
  }
  // Written beside its name, and given that name when it is whole: whatever ends us, nobody finds a part of a
  // report. A file that is there must be one that we may write; a link stays one.
  struct stat status{};
  std::error_code ignored;
  bool is_there = stat(path.c_str(), &status) == 0;
  if (!is_there && errno != ENOENT) return cannot_be_written(path, errno);
  std::string target = path;
  if (is_there) {
    int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return cannot_be_written(path, errno);
    std::error_code error;
    std::string resolved = std::filesystem::canonical(path, error).string();
    // A pipe or a device has no other name to be written under; a file with two names would lose one.
    if (error || !S_ISREG(status.st_mode) || status.st_nlink > 1)
      return std::unique_ptr<ReportFile>(new ReportFile(path, "", fd));
    close(fd);
    target = resolved;
  }
  if (!is_there && std::filesystem::is_symlink(path, ignored)) {  // of a file that is still to be
    int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return cannot_be_written(path, errno);
    return std::unique_ptr<ReportFile>(new ReportFile(path, "", fd));
  }
  std::string temporary = fmt::format("{}.part{}", target, getpid());
  int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0 && is_there) {
    // In a folder where nothing can be made, or with a name too long for the addition.
    fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd >= 0) return std::unique_ptr<ReportFile>(new ReportFile(path, "", fd));
  }
  if (fd < 0) return cannot_be_written(path, errno);
  remove_file_on_signal(temporary);
  if (is_there && fchmod(fd, status.st_mode & 07777) != 0) errno = 0;  // its own mode is as good
  auto file = std::unique_ptr<ReportFile>(new ReportFile(path, temporary, fd));
  file->target_ = target;
  return file;
}

ReportFile::~ReportFile() {
  if (path_.empty()) return;
  if (fd_ >= 0) close(fd_);
  if (temporary_.empty()) return;
  if (!written_) unlink(temporary_.c_str());
  forget_file(temporary_);
}

Status ReportFile::write(const std::string& text) {
  int error = 0;
  struct stat status{};
  bool is_regular =
      !path_.empty() && temporary_.empty() && fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
  if (is_regular && ftruncate(fd_, 0) != 0) error = errno;
  if (error == 0) error = write_all(fd_, text);
  if (error == 0 && !temporary_.empty()) {
    if (close(std::exchange(fd_, -1)) != 0 || rename(temporary_.c_str(), target_.c_str()) != 0) error = errno;
  }
  if (error != 0) {
    if (is_regular && ftruncate(fd_, 0) != 0) written_ = false;  // nothing half-written
    return cannot_be_written(path_.empty() ? "standard output" : path_, error);
  }
  written_ = true;
  return Nothing{};
}

void Reporting::add_options(CLI::App& app) {
  app.add_option("--json", json_, "write the report as JSON to FILE (- is standard output)")
      ->type_name("FILE");
  app.add_option("--sarif", sarif_, "write the report as SARIF 2.1.0 to FILE")->type_name("FILE");
  app.add_option("--html", html_, "write the report as one HTML page to FILE")->type_name("FILE");
  app.add_option("--suppressions", suppression_files_,
                 "leave out findings that FILE lists, in ThreadSanitizer's syntax")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("-q,--quiet", quiet_, "print nothing but errors");
  app.add_flag("--no-color", no_color_, "print without colour (also: variable NO_COLOR)");
}

bool Reporting::prepare() {
  for (const std::string& file : suppression_files_) {
    if (Status status = suppressions_.load(file); !status) {
      complain(status.error().message);
      return false;
    }
  }
  if ((json_ == "-") + (sarif_ == "-") + (html_ == "-") > 1) {
    complain("only one report can go to standard output");
    return false;
  }
  struct {
    const std::string& path;
    std::unique_ptr<ReportFile>& file;
  } files[] = {{json_, json_file_}, {sarif_, sarif_file_}, {html_, html_file_}};
  for (auto& [path, file] : files) {
    if (path.empty()) continue;
    auto opened = ReportFile::open(path);
    if (!opened) {
      complain(opened.error().message);
      return false;
    }
    file = std::move(*opened);
  }
  return true;
}

bool Reporting::color() const {
  const char* no_color = getenv("NO_COLOR");
  const char* term = getenv("TERM");
  return !no_color_ && (no_color == nullptr || *no_color == '\0') && isatty(STDERR_FILENO) &&
         (term == nullptr || std::string_view(term) != "dumb");
}

int Reporting::finish(const report::Report& report, int otherwise) {
  if (!quiet_) {
    // A closed standard error takes nothing away from the files and the exit code.
    write_all(STDERR_FILENO, report::render_terminal(report, {.color = color()}));
  }
  return write_files(report, otherwise);
}

int Reporting::finish_printed(const report::Report& report, WhenClean when_clean) {
  bool is_clean = report.findings.empty() && report.notes.empty();
  bool is_silent = quiet_ || (is_clean && when_clean == WhenClean::kIsSilent);
  if (!is_silent) write_all(STDERR_FILENO, report::render_terminal_summary(report, {.color = color()}));
  return write_files(report, kExitClean);
}

int Reporting::write_files(const report::Report& report, int otherwise) {
  bool failed = false;
  auto write = [&](ReportFile* file, auto render) {
    if (file == nullptr) return;
    if (Status status = file->write(render(report)); !status) {
      complain(status.error().message);
      failed = true;
    }
  };
  write(json_file_.get(), report::render_json);
  write(sarif_file_.get(), [](const report::Report& report) {
    std::error_code ignored;
    return report::render_sarif(report, std::filesystem::current_path(ignored).string());
  });
  write(html_file_.get(), report::render_html);
  if (failed) return kExitUsage;
  return report.findings.empty() ? otherwise : kExitFindings;
}

}  // namespace deadheat::cli
