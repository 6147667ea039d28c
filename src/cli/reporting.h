// The options that all reporting commands share, and what they do: open the report files before any work
// starts, print and write when it is done, choose the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/finding.h"
#include "triage/suppressions.h"

namespace deadheat::cli {

// One file that a report goes to. Opened (and so checked) early, written once. It is written under a
// temporary name beside its own, which it gets when it is whole; until then a file that was there keeps its
// content.
class ReportFile {
 public:
  static Result<std::unique_ptr<ReportFile>> open(const std::string& path);
  ~ReportFile();
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  Status write(const std::string& text);

 private:
  ReportFile(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

  std::string path_;       // as the user wrote it; empty: standard output
  std::string temporary_;  // empty if it is written in place
  std::string target_;     // what the temporary file becomes
  int fd_;
  bool written_ = false;
};

class Reporting {
 public:
  void add_options(CLI::App& app);

  // Reads the suppressions and opens the report files. On an error, which was printed, the command must end
  // with kExitUsage.
  bool prepare();

  // Prints the report to standard error unless --quiet, writes the files. The result is the exit code:
  // findings, or else `otherwise`.
  int finish(const report::Report& report, int otherwise);
  // The same when the findings were printed one by one already: the summary only. A program that is simply
  // run, and has no races, prints what it prints without us; one that was run for its races is told that
  // there are none.
  enum class WhenClean { kIsSilent, kSaysSo };
  int finish_printed(const report::Report& report, WhenClean when_clean);
  // The files only.
  int write_files(const report::Report& report, int otherwise);

  triage::Suppressions& suppressions() { return suppressions_; }
  bool quiet() const { return quiet_; }
  bool color() const;

 private:
  std::string json_, sarif_, html_;
  std::vector<std::string> suppression_files_;
  bool quiet_ = false;
  bool no_color_ = false;
  triage::Suppressions suppressions_;
  std::unique_ptr<ReportFile> json_file_, sarif_file_, html_file_;
};

}  // namespace deadheat::cli
