#include "instrument/lanes.h"

#include <llvm/Transforms/Scalar/LowerConstantIntrinsics.h>

#include "instrument/instrument_pass.h"
#include "instrument/monitor_pass.h"
#include "instrument/record/recorder.h"

namespace deadheat::instrument {

Status add_lane_pass(llvm::ModulePassManager& manager, const Options& options) {
  if (options.mode == "watch") {
    manager.addPass(InstrumentPass(options));
  } else if (options.mode == "monitor") {
    manager.addPass(MonitorPass(options));
  } else if (options.mode == "record") {
    // What they mean may depend on locals that a replay has elsewhere.
    manager.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::LowerConstantIntrinsicsPass()));
    manager.addPass(record::RecordPass(options));
  } else {
    return Error{"mode '" + options.mode + "': expected watch, monitor or record"};
  }
  return Nothing{};
}

}  // namespace deadheat::instrument
