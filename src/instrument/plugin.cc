// The plugin as clang loads it (-fpass-plugin): where in the pipeline its passes stand.
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include <cstdlib>

#include "instrument/instrument_pass.h"
#include "instrument/sanitizer_marks.h"

namespace {

using namespace llvm;
using namespace deadheat::instrument;

Options options_from_environment() {
  const char* text = std::getenv("DEADHEAT_PLUGIN_OPTIONS");
  deadheat::Result<Options> options = parse_options(text ? text : "");
  if (!options.ok())
    report_fatal_error(Twine("deadheat: DEADHEAT_PLUGIN_OPTIONS: ") + options.error().message,
                       /*gen_crash_diag=*/false);
  return *options;
}

void register_passes(PassBuilder& builder) {
  builder.registerPipelineStartEPCallback([](ModulePassManager& manager, OptimizationLevel) {
    manager.addPass(PreparePass(options_from_environment().is_marked));
  });
  builder.registerOptimizerLastEPCallback([](ModulePassManager& manager, OptimizationLevel) {
    // At -O0 too: a hook that stayed a call would be the return address of its own slow path.
    manager.addPass(InstrumentPass(options_from_environment()));
  });
  // For opt(1): -passes=deadheat.
  builder.registerPipelineParsingCallback(
      [](StringRef name, ModulePassManager& manager, ArrayRef<PassBuilder::PipelineElement>) {
        if (name != "deadheat") return false;
        manager.addPass(InstrumentPass(options_from_environment()));
        return true;
      });
}

}  // namespace

extern "C" LLVM_ATTRIBUTE_WEAK ::llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "deadheat", DEADHEAT_VERSION, register_passes};
}
