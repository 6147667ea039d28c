#include <fmt/format.h>

#include "cli/command.h"

namespace deadheat::cli {
namespace {

class VersionCommand : public Command {
 public:
  std::string name() const override { return "version"; }
  std::string summary() const override { return "print the version"; }
  std::string usage() const override { return "version"; }
  std::string examples() const override { return {}; }
  void add_options(CLI::App&) override {}
  int run(const std::vector<std::string>&) override {
    fmt::print("deadheat {}\n", DEADHEAT_VERSION);
    return kExitClean;
  }
};

}  // namespace

std::unique_ptr<Command> make_version_command() { return std::make_unique<VersionCommand>(); }

}  // namespace deadheat::cli
