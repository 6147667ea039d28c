// --mode and what belongs to one lane or another, of the commands that run a program.
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
  // An option that was given and is the monitor lane's alone, or null.
  const char* monitors_own() const;
  // For the runtime (DEADHEAT_OPTIONS), empty if nothing was asked for.
  std::string runtime_options() const;

 private:
  std::string mode_;
  std::string detectors_;
  std::string filter_;
  // Of the monitor lane.
  std::string sample_;
  std::string budget_;
  std::string cap_;
  bool random_cap_ = false;
};

}  // namespace deadheat::cli
