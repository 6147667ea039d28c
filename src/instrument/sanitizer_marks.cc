#include "instrument/sanitizer_marks.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include "instrument/function_lines.h"
#include "instrument/hooks.h"
#include "instrument/library_caches.h"
#include "instrument/library_waits.h"
#include "instrument/sanitizer_calls.h"

namespace deadheat::instrument {

using namespace llvm;

namespace {

constexpr const char* kExcluded = "deadheat-excluded";
constexpr const char* kInstrumented = "deadheat-instrumented";

}  // namespace

bool is_excluded(const Function& function) {
  return function.isDeclaration() || function.hasFnAttribute(Attribute::Naked) ||
         function.hasFnAttribute(kInstrumented) || function.hasFnAttribute(kExcluded) ||
         function.isPresplitCoroutine() || Hooks::is_hook_name(function.getName());
}

void mark_instrumented(Function& function) { function.addFnAttr(kInstrumented); }

PreservedAnalyses PreparePass::run(Module& module, ModuleAnalysisManager&) {
  keep_function_lines(module);
  for (Function& function : module) {
    if (function.isDeclaration()) continue;
    if (function.hasFnAttribute(Attribute::DisableSanitizerInstrumentation) ||
        (is_marked_ && !function.hasFnAttribute(Attribute::SanitizeThread)))
      function.addFnAttr(kExcluded);
    else
      function.addFnAttr(Attribute::SanitizeThread);
    function.addFnAttr(Attribute::DisableSanitizerInstrumentation);
    mark_library_caches(function);
    mark_library_waits(function);
    if (!is_excluded(function)) lower_sanitizer_calls(function);
  }
  return PreservedAnalyses::none();
}

void seal(Module& module) {
  for (Function& function : module) {
    function.removeFnAttr(Attribute::SanitizeThread);
    if (!function.isDeclaration()) function.addFnAttr(Attribute::DisableSanitizerInstrumentation);
  }
  // ThreadSanitizer makes its constructor unless there is one; an unused declaration leaves nothing in the
  // object file.
  module.getOrInsertFunction("tsan.module_ctor", Type::getVoidTy(module.getContext()));
}

}  // namespace deadheat::instrument
