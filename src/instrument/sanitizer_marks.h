// Which functions to instrument, and how the optimiser is kept from inventing accesses: the attribute
// `sanitize_thread`.
//
// Two things need it. LLVM may execute a load that the program would not have executed (its memory model
// allows a race whose value is unused), or widen one; a checker would report races that are not in the
// program. On functions with `sanitize_thread` it does not. And `__attribute__((no_sanitize("thread")))`,
// which many programs carry, leaves no other trace in IR than this attribute's absence.
//
// So the wrappers run clang's front end, and only the front end, as if for ThreadSanitizer (-Xclang
// -fsanitize=thread): it marks what is to be watched, and `__has_feature(thread_sanitizer)` is true, by which
// libraries know to use their annotations and to avoid tricks that no checker can follow (libstdc++'s
// shared_ptr reads two counters with one load). ThreadSanitizer's own passes, which come after ours, must
// then find nothing to do: `disable_sanitizer_instrumentation` on every function stops one, a declaration
// under the name of the constructor it would add stops the other.
//
// Without the front end's marks (the plugin used alone, IR as input) every function is marked.
#pragma once

#include <llvm/IR/PassManager.h>

namespace deadheat::instrument {

// First in the pipeline. With `is_marked`, functions the front end left unmarked are excluded.
class PreparePass : public llvm::PassInfoMixin<PreparePass> {
 public:
  explicit PreparePass(bool is_marked) : is_marked_(is_marked) {}
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&);
  static bool isRequired() { return true; }

 private:
  bool is_marked_;
};

// Is the body not ours to change? Instrumented ones are not either: a second run, at link time, leaves them
// alone.
bool is_excluded(const llvm::Function& function);
void mark_instrumented(llvm::Function& function);

// Last: nothing that follows needs the marks, and nothing else may instrument.
void seal(llvm::Module& module);

}  // namespace deadheat::instrument
