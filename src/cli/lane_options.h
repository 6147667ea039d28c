// --mode, --detectors and --filter of the commands that run a program.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace deadheat::cli {

class LaneOptions {
 public:
  void add_options(CLI::App& app);
  // Checks what CLI11 cannot. On an error, which was printed, the command must end with kExitUsage.
  bool prepare() const;

  const std::string& mode() const { return mode_; }  // empty: not asked for
  const std::string& filter() const { return filter_; }

 private:
  std::string mode_;
  std::string detectors_;
  std::string filter_;
};

}  // namespace deadheat::cli
