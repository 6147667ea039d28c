// Linked into tests only: IR text in, the instrumented module and what was counted out.
#pragma once

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "instrument/hooks.h"
#include "instrument/instrument_pass.h"

namespace deadheat::instrument::testing {

// Debug information of a function f in a.c, which is !3; what follows begins with !6.
inline const std::string kDebugInfoOfF = R"(
    !llvm.dbg.cu = !{!0}
    !llvm.module.flags = !{!2}
    !0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: LineTablesOnly)
    !1 = !DIFile(filename: "a.c", directory: "/")
    !2 = !{i32 2, !"Debug Info Version", i32 3}
    !3 = distinct !DISubprogram(name: "f", file: !1, line: 1, scopeLine: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
    !4 = !DISubroutineType(types: !5)
    !5 = !{}
    )";

class Instrumented {
 public:
  // `switches` as in --deadheat-opt; hooks stay calls unless `inline_hooks`.
  explicit Instrumented(const std::string& text, const std::string& switches = "",
                        bool inline_hooks = false) {
    llvm::SMDiagnostic error;
    const std::string target =
        "target datalayout = "
        "\"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n"
        "target triple = \"x86_64-pc-linux-gnu\"\n";
    module_ = llvm::parseAssemblyString(target + text, error, context_);
    if (!module_) {
      ADD_FAILURE() << "line " << error.getLineNo() - 2 << ": " << error.getMessage().str();
      module_ = std::make_unique<llvm::Module>("empty", context_);
      return;
    }
    Options options;
    EXPECT_TRUE(apply_switches(switches, options).ok());
    options_ = options;
    run(inline_hooks);
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    EXPECT_FALSE(llvm::verifyModule(*module_, &stream)) << problem << print();
  }

  void run(bool inline_hooks) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    InstrumentPass(options_, inline_hooks, &statistics_).run(*module_, modules);
  }

  llvm::Module& module() { return *module_; }
  const Statistics& statistics() const { return statistics_; }

  // The checks of plain accesses left in `function`, in order: "read4", "write_range", "read_strided".
  std::vector<std::string> checks(const std::string& function = "f") const {
    return matching(function, [](llvm::StringRef name) {
      return name.starts_with("read") || name.starts_with("write") || name.starts_with("mem");
    });
  }
  // All hooks called in `function`, in order.
  std::vector<std::string> hooks(const std::string& function = "f") const {
    return matching(function, [](llvm::StringRef) { return true; });
  }
  std::vector<llvm::CallInst*> calls(const std::string& hook) const {
    std::vector<llvm::CallInst*> found;
    for (llvm::Function& function : *module_)
      for (llvm::Instruction& instruction : llvm::instructions(function))
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction))
          if (call->getCalledFunction() && call->getCalledFunction()->getName() == hook)
            found.push_back(call);
    return found;
  }
  std::string print() const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module_->print(stream, nullptr);
    return text;
  }

 private:
  template <class Predicate>
  std::vector<std::string> matching(const std::string& name, Predicate predicate) const {
    std::vector<std::string> found;
    llvm::Function* function = module_->getFunction(name);
    if (!function) return {"no function " + name};
    for (llvm::Instruction& instruction : llvm::instructions(*function)) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (!call || !call->getCalledFunction()) continue;
      llvm::StringRef hook = call->getCalledFunction()->getName();
      if (hook.consume_front("__dh_") && predicate(hook)) found.push_back(hook.str());
    }
    return found;
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  Options options_;
  Statistics statistics_;
};

}  // namespace deadheat::instrument::testing
