#include "cli/lane_options.h"

#include <fmt/format.h>

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
}

bool LaneOptions::prepare() const {
  if (detectors_.empty() || detectors_ == "fasttrack") return true;
  complain(fmt::format(
      "--detectors {}: a running program is watched by fasttrack only; others work on recordings and traces: "
      "deadheat analyze",
      detectors_));
  return false;
}

}  // namespace deadheat::cli
