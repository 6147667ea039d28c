#include "cli/lane_options.h"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "cli/command.h"

namespace deadheat::cli {

void LaneOptions::add_options(CLI::App& app) {
  app.add_option("--mode", mode_, "the lane: watch, monitor or record")
      ->type_name("LANE")
      ->check(CLI::IsMember({"watch", "monitor", "record"}));
  app.add_option("--detectors", detectors_, "detectors, separated by commas; the watch lane has fasttrack")
      ->type_name("NAMES");
  app.add_option("--filter", filter_,
                 "accesses dropped before the detector: spans (exact, default), tree or none")
      ->type_name("NAME")
      ->check(CLI::IsMember({"spans", "tree", "none"}));
  app.add_option("--sample", sample_, "monitor lane: monitor for this share of the time only, such as 10%")
      ->type_name("PERCENT");
  app.add_option("--budget", budget_,
                 "monitor lane: monitor as much as makes the program slower by this, such as 5%")
      ->type_name("PERCENT");
  app.add_option(
         "--cap", cap_,
         "monitor lane: monitors a place may start per thread and tick of 2 ms (default 10; 0: any number)")
      ->type_name("NUMBER");
  app.add_flag("--random-cap", random_cap_,
               "monitor lane: choose at random which executions of a place these are");
}

const char* LaneOptions::monitors_own() const {
  if (!sample_.empty()) return "--sample";
  if (!budget_.empty()) return "--budget";
  if (!cap_.empty()) return "--cap";
  return random_cap_ ? "--random-cap" : nullptr;
}

std::string LaneOptions::runtime_options() const {
  std::string options;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) options += fmt::format("{}{}={}", options.empty() ? "" : " ", name, value);
  };
  add("filter", filter_);
  add("sample", sample_);
  add("budget", budget_);
  add("cap", cap_);
  add("random_cap", random_cap_ ? "1" : "");
  return options;
}

namespace {

// What the runtime would say, before the program is started.
bool is_share(const std::string& text) {
  char* end = nullptr;
  double const value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() && *end == '%') ++end;
  return !text.empty() && text[0] >= '0' && text[0] <= '9' && *end == '\0' && value >= 0.01 && value <= 100;
}

}  // namespace

bool LaneOptions::prepare() const {
  if (const char* const own = monitors_own(); own != nullptr && !mode_.empty() && mode_ != "monitor") {
    complain(fmt::format("{}: belongs to --mode monitor, and --mode {} was asked for", own, mode_));
    return false;
  }
  struct {
    const char* name;
    const std::string& value;
  } const shares[] = {{"--sample", sample_}, {"--budget", budget_}};
  for (const auto& [name, value] : shares) {
    if (!value.empty() && !is_share(value)) {
      complain(fmt::format("{} {}: expected a percentage from 0.01 to 100", name, value));
      return false;
    }
  }
  if (!cap_.empty() && (cap_.size() > 3 || cap_.find_first_not_of("0123456789") != std::string::npos ||
                        std::stoi(cap_) > 255)) {
    complain(fmt::format("--cap {}: expected a number from 0 to 255", cap_));
    return false;
  }
  if (!sample_.empty() && !budget_.empty()) {
    complain("--sample and --budget: expected one of them; a budget decides itself how much is monitored");
    return false;
  }
  if (detectors_.empty() || detectors_ == "fasttrack") return true;
  complain(fmt::format(
      "--detectors {}: a running program is watched by fasttrack only; others work on recordings and traces: "
      "deadheat analyze",
      detectors_));
  return false;
}

}  // namespace deadheat::cli
