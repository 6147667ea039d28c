#include "instrument/monitor_pass.h"

#include <llvm/IR/Module.h>

#include "instrument/hooks.h"
#include "instrument/inline_hooks.h"
#include "instrument/module_setup.h"
#include "instrument/sanitizer_marks.h"

namespace deadheat::instrument {

using namespace llvm;

PreservedAnalyses MonitorPass::run(Module& module, ModuleAnalysisManager&) {
  Statistics statistics;
  bool changed = false;
  for (Function& function : module) {
    if (is_excluded(function)) continue;
    mark_instrumented(function);
    changed = true;
  }
  if (changed) {
    Hooks hooks(module);
    add_constructor(module, hooks, options_.mode);
    add_note(module, options_.mode);
    if (inline_hooks_ && options_.is_on(Optimisation::kInline))
      if (Status status = inline_hooks(module, hook_bitcode(options_.mode), statistics); !status.ok())
        report_fatal_error(Twine("deadheat: ") + status.error().message, /*gen_crash_diag=*/false);
  }
  seal(module);
  return PreservedAnalyses::none();
}

}  // namespace deadheat::instrument
