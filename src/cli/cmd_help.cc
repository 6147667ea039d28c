#include <fmt/format.h>

#include <string>

#include "cli/command.h"

namespace deadheat::cli {
namespace {

class HelpCommand : public Command {
 public:
  std::string name() const override { return "help"; }
  std::string summary() const override { return "show help, of a command if one is named"; }
  std::string usage() const override { return "help [COMMAND]"; }
  std::string examples() const override { return {}; }
  void add_options(CLI::App& app) override { app.add_option("COMMAND", topic_, "the command to explain"); }

  int run(const std::vector<std::string>&) override {
    auto commands = all_commands();
    if (!topic_.empty()) {
      for (auto& command : commands) {
        if (command->name() != topic_) continue;
        fmt::print("{}", help_of(*command));
        return kExitClean;
      }
      complain(fmt::format("help: unknown command \"{}\"; see: deadheat help", topic_));
      return kExitUsage;
    }
    fmt::print(
        "deadheat {}: finds data races in C and C++ programs\n\nusage: deadheat COMMAND ...\n\ncommands:\n",
        DEADHEAT_VERSION);
    for (auto& command : commands) {
      if (!command->hidden()) fmt::print("  {:<10} {}\n", command->name(), command->summary());
    }
    fmt::print(
        "\nfirst steps:\n"
        "  deadheat check bank.cpp -- 8                                compile, run and report in one step\n"
        "  CC=deadheat-cc CXX=deadheat-c++ cmake -B build && ...       build a project with the wrappers\n"
        "  deadheat run -- build/tests                                 run what was built and report\n"
        "\nexit codes: 0 nothing found, 66 findings, 2 wrong usage or unreadable input, 70 a fault of "
        "deadheat itself;\n"
        "otherwise the program's own code, 128+N after signal N\n"
        "\ndeadheat help COMMAND explains a command.\n");
    return kExitClean;
  }

 private:
  std::string topic_;
};

}  // namespace

std::unique_ptr<Command> make_help_command() { return std::make_unique<HelpCommand>(); }

}  // namespace deadheat::cli
