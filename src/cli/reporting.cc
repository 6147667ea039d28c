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

}  // namespace

Result<std::unique_ptr<ReportFile>> ReportFile::open(const std::string& path) {
  if (path == "-") {
    // A closed standard output (see main) must fail now, not after an hour of running.
    if ((fcntl(STDOUT_FILENO, F_GETFD) & FD_CLOEXEC) != 0)
      return Error{"standard output: cannot be written: it is closed"};
    return std::unique_ptr<ReportFile>(new ReportFile("", STDOUT_FILENO, false));
  }
  struct stat status{};
  bool is_new = stat(path.c_str(), &status) != 0 && errno == ENOENT;
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return Error{fmt::format("{}: cannot be written: {}", path, std::strerror(errno))};
  if (is_new) remove_file_on_signal(path);
  return std::unique_ptr<ReportFile>(new ReportFile(path, fd, is_new));
}

ReportFile::~ReportFile() {
  if (path_.empty()) return;
  close(fd_);
  if (made_ && !written_) unlink(path_.c_str());
  forget_file(path_);
}

Status ReportFile::write(const std::string& text) {
  int error = 0;
  struct stat status{};
  bool is_regular = !path_.empty() && fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
  if (is_regular && ftruncate(fd_, 0) != 0) error = errno;
  if (error == 0) error = write_all(fd_, text);
  if (error != 0) {
    if (is_regular && ftruncate(fd_, 0) != 0) written_ = false;  // nothing half-written
    return Error{fmt::format("{}: cannot be written: {}", path_.empty() ? "standard output" : path_,
                             std::strerror(error))};
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

int Reporting::finish_printed(const report::Report& report) {
  // A program that is simply run, and has no races, prints what it prints without us.
  bool is_silent = quiet_ || (report.findings.empty() && report.notes.empty());
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
