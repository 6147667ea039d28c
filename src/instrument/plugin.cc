// The plugin as clang loads it (-fpass-plugin): where in the pipeline its passes stand.
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/CommandLine.h>

#include <cstdlib>

#include "instrument/lanes.h"
#include "instrument/sanitizer_marks.h"
#include "instrument/selected_reads.h"

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

void add_pass(ModulePassManager& manager) {
  if (deadheat::Status status = add_lane_pass(manager, options_from_environment()); !status.ok())
    report_fatal_error(Twine("deadheat: DEADHEAT_PLUGIN_OPTIONS: ") + status.error().message,
                       /*gen_crash_diag=*/false);
}

// Options of LLVM's that no attribute of a function stands for; they only matter while clang compiles. What
// the user has set stays.
void set_option(StringRef name, StringRef value) {
  auto& options = cl::getRegisteredOptions();
  const auto option = options.find(name);
  if (option == options.end() || option->second->getNumOccurrences() != 0) return;
  if (option->second->addOccurrence(1, option->first(), value))
    report_fatal_error(Twine("deadheat: cannot set -") + name, /*gen_crash_diag=*/false);
}

// Accesses that the program does not make are false alarms.
void forbid_invented_accesses() {
  // Of every second element, the vectoriser likes to read all and keep half.
  set_option("enable-interleaved-mem-accesses", "false");
  // What a loop changes now and then is read before the loop, whether it will be changed or not.
  set_option("disable-licm-promotion", "true");
}

// At -O3, what a function reads through its argument may be read by its callers instead: the access is then
// in another function, at the line of the call, and if that is in a library's header (std::thread calls a
// lambda), the program's own line is nowhere on the stack.
void keep_reads_in_their_functions(PassInstrumentationCallbacks& callbacks) {
  callbacks.registerShouldRunOptionalPassCallback(
      [](StringRef pass, const Any&) { return pass != "ArgumentPromotionPass"; });
}

void register_passes(PassBuilder& builder) {
  forbid_invented_accesses();
  if (PassInstrumentationCallbacks* const callbacks = builder.getPassInstrumentationCallbacks()) {
    keep_reads_in_their_functions(*callbacks);
    keep_selected_reads(*callbacks);
  }
  builder.registerPipelineStartEPCallback([](ModulePassManager& manager, OptimizationLevel) {
    manager.addPass(PreparePass(options_from_environment().is_marked));
  });
  builder.registerOptimizerLastEPCallback([](ModulePassManager& manager, OptimizationLevel) {
    // At -O0 too: a hook that stayed a call would be the return address of its own slow path.
    add_pass(manager);
  });
  // For opt(1): -passes=deadheat.
  builder.registerPipelineParsingCallback(
      [](StringRef name, ModulePassManager& manager, ArrayRef<PassBuilder::PipelineElement>) {
        if (name != "deadheat") return false;
        add_pass(manager);
        return true;
      });
}

}  // namespace

extern "C" LLVM_ATTRIBUTE_WEAK ::llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "deadheat", DEADHEAT_VERSION, register_passes};
}
