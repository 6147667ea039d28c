// What every command of `deadheat` is: a name, a line of help, options, and something to do.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace deadheat::cli {

inline constexpr int kExitClean = 0;
inline constexpr int kExitUsage = 2;      // wrong usage or unreadable input
inline constexpr int kExitFindings = 66;  // ThreadSanitizer's code
inline constexpr int kExitFault = 70;     // a fault of Deadheat itself

class Command {
 public:
  virtual ~Command() = default;
  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;
  virtual std::string usage() const = 0;     // what follows "deadheat "
  virtual std::string examples() const = 0;  // lines, for help
  virtual bool hidden() const { return false; }
  // Whether the words after `--` (or after the first word that is no option) belong to a program.
  virtual bool runs_program() const { return false; }

  virtual void add_options(CLI::App& app) = 0;
  // `rest`: the words after `--`. The result is the exit code.
  virtual int run(const std::vector<std::string>& rest) = 0;
};

std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_check_command();
std::unique_ptr<Command> make_analyze_command();
std::unique_ptr<Command> make_replay_command();
std::unique_ptr<Command> make_trace_command();
std::unique_ptr<Command> make_recording_command();
std::unique_ptr<Command> make_report_raw_command();
std::unique_ptr<Command> make_record_writer_command();
std::unique_ptr<Command> make_version_command();
std::unique_ptr<Command> make_help_command();

// All commands, in the order in which help lists them.
std::vector<std::unique_ptr<Command>> all_commands();

// The help of one command.
std::string help_of(Command& command);

// "deadheat: <text>" on standard error.
void complain(const std::string& text);

}  // namespace deadheat::cli
