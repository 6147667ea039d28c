#include "instrument/monitor_pass.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include "instrument/access_instrumenter.h"
#include "instrument/escape_analysis.h"
#include "instrument/hooks.h"
#include "instrument/inline_hooks.h"
#include "instrument/interference_free_regions.h"
#include "instrument/loop_accesses.h"
#include "instrument/module_setup.h"
#include "instrument/monitor_instrumenter.h"
#include "instrument/monitor_loops.h"
#include "instrument/monitor_placement.h"
#include "instrument/monitor_versions.h"
#include "instrument/sanitizer_marks.h"
#include "instrument/source_lines.h"
#include "runtime/monitor_abi.h"

namespace deadheat::instrument {

using namespace llvm;

namespace {

// Callees before callers, as far as there is no recursion: what callees certainly access is known to callers.
std::vector<Function*> bottom_up(Module& module) {
  std::vector<Function*> order;
  DenseSet<Function*> seen;
  struct Visit {
    Function* function;
    std::vector<Function*> callees;
    size_t next = 0;
  };
  const auto callees_of = [](Function& function) {
    std::vector<Function*> callees;
    for (Instruction& instruction : instructions(function))
      if (auto* call = dyn_cast<CallBase>(&instruction))
        if (Function* callee = call->getCalledFunction(); callee && !callee->isDeclaration())
          callees.push_back(callee);
    return callees;
  };
  for (Function& root : module) {
    if (root.isDeclaration() || !seen.insert(&root).second) continue;
    std::vector<Visit> stack;
    stack.push_back({&root, callees_of(root)});
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.callees.size()) {
        Function* const callee = top.callees[top.next++];
        if (seen.insert(callee).second) stack.push_back({callee, callees_of(*callee)});
        continue;
      }
      if (!is_excluded(*top.function)) order.push_back(top.function);
      stack.pop_back();
    }
  }
  return order;
}

// With hooks inside, a function is no longer what its attributes say.
void drop_untrue_attributes(Function& function) {
  const auto drop = [](auto& target) {
    for (Attribute::AttrKind kind : {Attribute::Memory, Attribute::NoSync, Attribute::Speculatable})
      target.removeFnAttr(kind);
  };
  drop(function);
  for (User* user : function.users())
    if (auto* call = dyn_cast<CallBase>(user); call && call->getCalledFunction() == &function) drop(*call);
}

// Values that a loop computes get a phi of their own behind it. The optimiser had them so, and left them so
// where it could; what it is kept from under sanitize_thread (speculating reads) now and then ends with uses
// inside the loop's own expressions, which the code generator's strength reduction then computes twice, in
// the loop: a merge of two arrays becomes eight percent slower. Means nothing, costs nothing else.
void close_loops(Function& function) {
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  for (Loop* loop : loops) formLCSSARecursively(*loop, dominators, &loops, /*SE=*/nullptr);
}

class ModuleMonitor {
 public:
  ModuleMonitor(Module& module, FunctionAnalysisManager& analyses, const Options& options,
                Statistics& statistics)
      : module_(module),
        analyses_(analyses),
        options_(options),
        statistics_(statistics),
        hooks_(module),
        sync_free_(module, options.is_on(Optimisation::kSyncFree)),
        effects_(module, sync_free_),
        accesses_(hooks_, statistics),
        instrumenter_(module, hooks_, statistics) {
    statistics.sync_free_functions = sync_free_.defined_count();
  }

  void instrument(Function& function) {
    ++statistics_.functions;
    restore_source_lines(function);
    EscapeAnalysis escapes(thread_locals_, analyses_.getResult<AAManager>(function));
    AccessList accesses = accesses_.collect(function, escapes, options_.is_on(Optimisation::kEscape));
    for (Access& access : accesses) make_vptr_store_a_read(access);
    const FunctionView view(function, accesses, sync_free_, escapes);
    auto& loops = analyses_.getResult<LoopAnalysis>(function);
    auto& evolution = analyses_.getResult<ScalarEvolutionAnalysis>(function);
    if (options_.is_on(Optimisation::kLoops))
      // Not further: an outer loop may take long, and the gate is looked at every time round.
      hoist_loop_accesses(view, {loops, evolution, analyses_.getResult<DominatorTreeAnalysis>(function)},
                          hooks_, accesses_, statistics_, Hoisting::kInnermostLoops);
    instrumenter_.take_loop_checks(function);
    // The loop pass computes in front of loops; what was known of them stays true.
    const InterferenceFreeRegions regions(function, accesses, view, effects_, loops, evolution, summaries_);
    if (has_known_body(function)) summaries_.set(function, regions.summary());
    Placement placement = place_monitors(function, regions, effects_);
    auto& dominators = analyses_.getResult<DominatorTreeAnalysis>(function);
    FunctionVersions versions(function, regions, instrumenter_.looks(placement), loops, evolution,
                              dominators);
    if (options_.is_on(Optimisation::kVersions) &&
        versions.is_worth_it(MonitorInstrumenter::may_return_to_strangers(function)))
      versions.copy(placement);
    else if (options_.is_on(Optimisation::kLoops))
      copy_innermost_loops(function, regions, placement, instrumenter_.gate(), loops, dominators, evolution);
    if (instrumenter_.run(function, regions, placement, versions)) drop_untrue_attributes(function);
    if (versions.is_copied()) versions.connect(instrumenter_.gate());
    if (Function* const plain = versions.plain_function()) twins_.emplace_back(&function, plain);
    mark(function);
  }

  // After all of them.
  void connect_twins() {
    for (const auto [monitored, plain] : twins_) {
      connect_functions(*monitored, *plain, instrumenter_.gate());
      drop_untrue_attributes(*plain);
      mark(*plain);
      mark_instrumented(*plain);
    }
  }

  Hooks& hooks() { return hooks_; }
  void make_direct() { instrumenter_.make_direct(); }

 private:
  // Whether setting the virtual table changes it is known only when it happens; a read it is in any case.
  static void make_vptr_store_a_read(Access& access) {
    const auto* size = dyn_cast_or_null<ConstantInt>(access.dynamic_size);
    if (!isa<StoreInst>(access.instruction) || !size) return;
    access.kind = AccessKind::kRead;
    access.size = size->getZExtValue();
    access.dynamic_size = nullptr;
  }

  // Tells instrumented code from invisible code at run time, and lets the runtime walk the stack: by unwind
  // tables, which almost every function has, or by frame pointers.
  void mark(Function& function) {
    if (!function.hasUWTable()) function.addFnAttr("frame-pointer", "non-leaf");
    if (function.hasPrefixData()) return;
    // Twice, so that the function stays aligned to 16 bytes.
    auto* const half = ConstantInt::get(Type::getInt64Ty(module_.getContext()), DEADHEAT_FUNCTION_MARK);
    function.setPrefixData(ConstantArray::get(ArrayType::get(half->getType(), 2), {half, half}));
  }

  Module& module_;
  FunctionAnalysisManager& analyses_;
  const Options& options_;
  Statistics& statistics_;
  Hooks hooks_;
  ThreadLocals thread_locals_;
  SyncFreeFunctions sync_free_;
  MonitorEffects effects_;
  RegionSummaries summaries_;
  AccessInstrumenter accesses_;
  MonitorInstrumenter instrumenter_;
  std::vector<std::pair<Function*, Function*>> twins_;  // with monitors, plain
};

}  // namespace

PreservedAnalyses MonitorPass::run(Module& module, ModuleAnalysisManager& analyses) {
  Statistics statistics;
  auto& function_analyses = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
  const std::vector<Function*> functions = bottom_up(module);
  if (!functions.empty()) {
    ModuleMonitor monitor(module, function_analyses, options_, statistics);
    for (Function* function : functions) {
      monitor.instrument(*function);
      mark_instrumented(*function);
      function_analyses.invalidate(*function, PreservedAnalyses::none());
    }
    monitor.connect_twins();
    add_constructor(module, monitor.hooks(), options_.mode);
    add_note(module, options_.mode);
    if (inline_hooks_ && options_.is_on(Optimisation::kInline))
      if (Status status = inline_hooks(module, hook_bitcode(options_.mode), statistics); !status.ok())
        report_fatal_error(Twine("deadheat: ") + status.error().message, /*gen_crash_diag=*/false);
    monitor.make_direct();
    for (Function& function : module)
      if (!function.isDeclaration() && !function.hasFnAttribute(Attribute::OptimizeNone))
        close_loops(function);
  }
  seal(module);
  if (options_.statistics) errs() << to_line(statistics, module.getSourceFileName()) << "\n";
  return PreservedAnalyses::none();
}

}  // namespace deadheat::instrument
