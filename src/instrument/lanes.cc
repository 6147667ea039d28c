#include "instrument/lanes.h"

#include "instrument/instrument_pass.h"
#include "instrument/monitor_pass.h"

namespace deadheat::instrument {

Status add_lane_pass(llvm::ModulePassManager& manager, const Options& options) {
  if (options.mode == "watch") {
    manager.addPass(InstrumentPass(options));
  } else if (options.mode == "monitor") {
    manager.addPass(MonitorPass(options));
  } else {
    return Error{"mode '" + options.mode + "': expected watch or monitor"};
  }
  return Nothing{};
}

}  // namespace deadheat::instrument
