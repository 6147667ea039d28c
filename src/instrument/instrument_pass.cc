#include "instrument/instrument_pass.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include "instrument/access_instrumenter.h"
#include "instrument/atomic_instrumenter.h"
#include "instrument/dominated_accesses.h"
#include "instrument/escape_analysis.h"
#include "instrument/function_frames.h"
#include "instrument/function_view.h"
#include "instrument/handed_down.h"
#include "instrument/hooks.h"
#include "instrument/inline_hooks.h"
#include "instrument/kept_variables.h"
#include "instrument/loop_accesses.h"
#include "instrument/module_setup.h"
#include "instrument/neighbouring_accesses.h"
#include "instrument/prefetches.h"
#include "instrument/private_versions.h"
#include "instrument/read_before_write.h"
#include "instrument/sanitizer_marks.h"
#include "instrument/source_lines.h"
#include "instrument/stream_calls.h"
#include "instrument/sync_free_functions.h"

namespace deadheat::instrument {

using namespace llvm;

namespace {

// With hooks inside, a function is no longer what its attributes say.
void drop_untrue_attributes(Function& function) {
  const auto drop = [](auto& target) {
    for (Attribute::AttrKind kind : {Attribute::Memory, Attribute::NoSync, Attribute::Speculatable})
      target.removeFnAttr(kind);
  };
  drop(function);
  for (User* user : function.users())
    if (auto* call = dyn_cast<CallBase>(user); call && call->getCalledFunction() == &function) drop(*call);
  // Inlined later (link-time optimisation), `__dh_enter` would take the caller's return address for its own.
  if (function.hasFnAttribute(Attribute::AlwaysInline)) function.removeFnAttr(Attribute::AlwaysInline);
  function.addFnAttr(Attribute::NoInline);
}

class ModuleInstrumenter {
 public:
  ModuleInstrumenter(Module& module, FunctionAnalysisManager& analyses, const Options& options,
                     const PrivateVersions& versions, Statistics& statistics)
      : analyses_(analyses),
        options_(options),
        statistics_(statistics),
        versions_(versions),
        hooks_(module),
        sync_free_(module, options.is_on(Optimisation::kSyncFree)),
        accesses_(hooks_, statistics),
        atomics_(hooks_, statistics),
        frames_(hooks_, statistics) {
    statistics.sync_free_functions = sync_free_.defined_count();
  }

  bool instrument(Function& function) {
    ++statistics_.functions;
    restore_source_lines(function);
    EscapeAnalysis escapes(thread_locals_, analyses_.getResult<AAManager>(function),
                           versions_.arguments_of(function));
    AccessList accesses = accesses_.collect(function, escapes, options_.is_on(Optimisation::kEscape));
    const SmallVector<AllocaInst*, 8> escaping = escaping_variables(function, escapes);
    const KeptVariables kept = variables_to_keep(function, escaping);
    const bool has_calls = FunctionFrames::has_calls(function);
    HandedDown handed(function, escapes, versions_);
    if (options_.is_on(Optimisation::kHanded)) {
      handed.choose(escaping, accesses, sync_free_, analyses_.getResult<DominatorTreeAnalysis>(function));
      call_private_versions(function, escapes, versions_, statistics_);
    }

    const uint64_t checks = statistics_.checks;
    optimise(FunctionView(function, accesses, sync_free_, escapes));
    optimise_blocks(FunctionView(function, handed.accesses(), sync_free_, escapes));
    accesses_.emit(accesses);
    handed.emit(accesses_, kept, statistics_);
    const bool has_atomics = atomics_.run(function);
    const bool has_streams = tell_of_streams(function, hooks_);
    if (!has_calls && !has_atomics && !has_streams && statistics_.checks == checks) return false;
    follow_prefetches(function, hooks_);
    frames_.run(function, escaping, kept, handed);
    handed.finish();
    drop_untrue_attributes(function);
    return true;
  }

  Hooks& hooks() { return hooks_; }

 private:
  KeptVariables variables_to_keep(Function& function, ArrayRef<AllocaInst*> escaping) {
    if (escaping.empty() || !options_.is_on(Optimisation::kScopes)) return {};
    return kept_variables(function, escaping, analyses_.getResult<LoopAnalysis>(function));
  }

  // Takes away checks that cannot show anything new. The order matters only for how much each finds: a
  // removed check is always covered by one that stays.
  void optimise(const FunctionView& view) {
    if (options_.is_on(Optimisation::kReadWrite)) remove_reads_before_writes(view, statistics_);
    if (options_.is_on(Optimisation::kDominated)) remove_dominated_accesses(view, statistics_);
    if (options_.is_on(Optimisation::kLoops)) {
      Function& function = view.function();
      hoist_loop_accesses(view,
                          {analyses_.getResult<LoopAnalysis>(function),
                           analyses_.getResult<ScalarEvolutionAnalysis>(function),
                           analyses_.getResult<DominatorTreeAnalysis>(function)},
                          hooks_, accesses_, statistics_);
    }
    if (options_.is_on(Optimisation::kNeighbours)) join_neighbouring_accesses(view, statistics_);
  }

  // Those within a block.
  void optimise_blocks(const FunctionView& view) {
    if (view.accesses().empty()) return;
    if (options_.is_on(Optimisation::kReadWrite)) remove_reads_before_writes(view, statistics_);
    if (options_.is_on(Optimisation::kNeighbours)) join_neighbouring_accesses(view, statistics_);
  }

  FunctionAnalysisManager& analyses_;
  const Options& options_;
  Statistics& statistics_;
  const PrivateVersions& versions_;
  Hooks hooks_;
  ThreadLocals thread_locals_;
  SyncFreeFunctions sync_free_;
  AccessInstrumenter accesses_;
  AtomicInstrumenter atomics_;
  FunctionFrames frames_;
};

}  // namespace

PreservedAnalyses InstrumentPass::run(Module& module, ModuleAnalysisManager& analyses) {
  Statistics statistics;
  auto& function_analyses = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
  SmallVector<Function*, 64> functions;
  for (Function& function : module)
    if (!is_excluded(function)) functions.push_back(&function);

  const PrivateVersions versions(options_.is_on(Optimisation::kHanded) ? ArrayRef<Function*>(functions)
                                                                       : ArrayRef<Function*>());
  const SmallVector<Function*, 16> private_versions = versions.functions();
  statistics.private_versions = private_versions.size();
  append_range(functions, private_versions);
  ModuleInstrumenter instrumenter(module, function_analyses, options_, versions, statistics);
  bool changed = false;
  for (Function* function : functions) {
    changed |= instrumenter.instrument(*function);
    mark_instrumented(*function);
    function_analyses.invalidate(*function, PreservedAnalyses::none());
  }
  // Where there is nothing to watch, too: the runtime tells who has forgotten to compile with Deadheat.
  if (!functions.empty()) {
    add_constructor(module, instrumenter.hooks(), options_.mode);
    add_note(module, options_.mode);
  }
  if (changed) {
    if (inline_hooks_ && options_.is_on(Optimisation::kInline))
      if (Status status = inline_hooks(module, hook_bitcode(options_.mode), statistics); !status.ok())
        report_fatal_error(Twine("deadheat: ") + status.error().message, /*gen_crash_diag=*/false);
    if (options_.is_on(Optimisation::kDirect)) address_runtime_directly(module);
  }
  seal(module);
  if (options_.statistics) errs() << to_line(statistics, module.getSourceFileName()) << "\n";
  if (statistics_out_) *statistics_out_ = statistics;
  return PreservedAnalyses::none();
}

}  // namespace deadheat::instrument
