// Which pass a lane has: the one place where the plugin knows all lanes.
#pragma once

#include <llvm/IR/PassManager.h>

#include "base/result.h"
#include "instrument/options.h"

namespace deadheat::instrument {

// Adds the pass that puts the lane's hooks into a module, last in the pipeline.
Status add_lane_pass(llvm::ModulePassManager& manager, const Options& options);

}  // namespace deadheat::instrument
