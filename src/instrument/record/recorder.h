// The record pass: one module in, the same module with recording hooks out, its own IR carried along.
//
// What happens at each point of the plan (plan.h), seen from the recorded program:
//
//   load          the value it saw goes to a value hook, piece by piece; plain code, no call unless
//   mispredicted store         feeds the predictor and the region's hash call          is the target
//   instrumented? A word beside the call site remembers the answer. If not, the thread is
//                 `invisible` meanwhile, and what comes back is logged
//   entry         a function entered while the thread is invisible was called back from invisible code: a
//   thunk logs its
//                 arguments and calls it again, and notices if an exception leaves it
//   landing pad   logs how deep in the stack of invokes the exception landed
//   atomics       are done by the runtime
//
// Everything that replay needs to find the same code again is in three sections: the module's bitcode, a
// descriptor per module with the addresses of what it refers to, and an entry per function that the linker
// kept.
#pragma once

#include <llvm/IR/PassManager.h>

#include "instrument/options.h"

namespace deadheat::instrument::record {

// Last in the pipeline, instead of InstrumentPass.
class RecordPass : public llvm::PassInfoMixin<RecordPass> {
 public:
  explicit RecordPass(Options options, bool inline_hooks = true)
      : options_(std::move(options)), inline_hooks_(inline_hooks) {}

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&);
  static bool isRequired() { return true; }

 private:
  Options options_;
  bool inline_hooks_;
};

}  // namespace deadheat::instrument::record
