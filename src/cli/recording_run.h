// Running an instrumented program while its recording is written: what `run` and `check` have in common for
// --mode record.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/process.h"
#include "cli/reporting.h"
#include "recording/reader.h"

namespace deadheat::cli {

// --out, --limit and --force.
class RecordOptions {
 public:
  void add_options(CLI::App& app);
  // Whether any was given: they need --mode record. On an error, which was printed, false.
  bool prepare(const std::string& mode) const;

  const std::string& out() const { return out_; }
  std::uint64_t limit() const { return limit_; }
  bool force() const { return force_; }

 private:
  std::string out_;
  std::uint64_t limit_ = 0;
  bool force_ = false;
};

// Runs the program, recorded, to its end; prints the summary, writes the reports. The result is the exit
// code. `command` is what a person would type to get the same, for messages and reports.
int record_program(const ProgramStart& program, const RecordOptions& options, Reporting& reporting,
                   const std::string& again);

// "1234567" -> "1.2 MB"
std::string human_bytes(std::uint64_t bytes);

}  // namespace deadheat::cli
