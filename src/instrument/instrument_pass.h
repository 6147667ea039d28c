// The pass: one module in, the same module with hooks out. Reads as the pipeline of src/instrument.
#pragma once

#include <llvm/IR/PassManager.h>

#include "instrument/options.h"
#include "instrument/statistics.h"

namespace deadheat::instrument {

// Last in the pipeline.
class InstrumentPass : public llvm::PassInfoMixin<InstrumentPass> {
 public:
  explicit InstrumentPass(Options options, bool inline_hooks = true, Statistics* statistics = nullptr)
      : options_(std::move(options)), inline_hooks_(inline_hooks), statistics_out_(statistics) {}

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
  static bool isRequired() { return true; }

 private:
  Options options_;
  bool inline_hooks_;
  Statistics* statistics_out_;
};

}  // namespace deadheat::instrument
