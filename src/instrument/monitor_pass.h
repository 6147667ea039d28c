// The monitor lane's pass: one module in, the same module with monitors out.
#pragma once

#include <llvm/IR/PassManager.h>

#include "instrument/options.h"
#include "instrument/statistics.h"

namespace deadheat::instrument {

// Last in the pipeline.
class MonitorPass : public llvm::PassInfoMixin<MonitorPass> {
 public:
  explicit MonitorPass(Options options, bool inline_hooks = true)
      : options_(std::move(options)), inline_hooks_(inline_hooks) {}

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }

 private:
  Options options_;
  bool inline_hooks_;
};

}  // namespace deadheat::instrument
