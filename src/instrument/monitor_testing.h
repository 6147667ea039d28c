// Linked into tests only: IR text in, what a function does and where its monitors start and stop out.
#pragma once

#include "instrument/monitor_pass.h"
#include "instrument/testing.h"
#include "runtime/monitor_abi.h"

namespace deadheat::instrument::testing {

// The target, and what the tests call.
inline const char* const kMonitorDeclarations = R"(
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare void @unknown()
declare void @quiet() nosync nounwind willreturn
declare void @throws() nosync willreturn
declare i32 @__gxx_personality_v0(...)
@g = global i32 0
@flag = global i32 0
@m1 = global [40 x i8] zeroinitializer
@m2 = global [40 x i8] zeroinitializer
)";

class Monitored {
 public:
  explicit Monitored(const std::string& text, const std::string& switches = "-inline,-versions") {
    llvm::SMDiagnostic error;
    module_ = llvm::parseAssemblyString(kMonitorDeclarations + text, error, context_);
    if (!module_) {
      ADD_FAILURE() << "line " << error.getLineNo() << ": " << error.getMessage().str() << "\n"
                    << error.getLineContents().str();
      module_ = std::make_unique<llvm::Module>("empty", context_);
      return;
    }
    Options options;
    options.mode = "monitor";
    EXPECT_TRUE(apply_switches(switches, options).ok());
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
    MonitorPass(options, /*inline_hooks=*/false).run(*module_, modules);
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    EXPECT_FALSE(llvm::verifyModule(*module_, &stream)) << problem << print();
  }

  // What `function` does, in order of its blocks: "read x", "write x", "lock", "unlock", the names of other
  // callees, and of the hooks "weak x", "strong x" (a monitor starts), "keep weak x", "stop" (told of a
  // release), "ask" (before a call that may be invisible).
  std::vector<std::string> events(const std::string& function = "f") const {
    std::vector<std::string> found;
    if (!module_->getFunction(function)) return {"no function " + function};
    for (llvm::Function* f : versions(function))
      for (llvm::Instruction& instruction : llvm::instructions(*f)) {
        const std::string event = describe(instruction);
        if (!event.empty() && event != function + ".monitored") found.push_back(event);
      }
    return found;
  }
  // The function, and its other version if that is a function of its own.
  std::vector<llvm::Function*> versions(const std::string& function = "f") const {
    std::vector<llvm::Function*> found = {module_->getFunction(function)};
    if (llvm::Function* other = module_->getFunction(function + ".monitored")) found.push_back(other);
    return found;
  }
  // Only where monitors start: "strong x in BLOCK", BLOCK being the program's block before the look at the
  // gate.
  std::vector<std::string> starts(const std::string& function = "f") const {
    std::vector<std::string> found;
    for (llvm::Function* f : versions(function))
      for (llvm::Instruction& instruction : llvm::instructions(*f)) {
        const std::string event = describe(instruction);
        if (!event.starts_with("weak") && !event.starts_with("strong")) continue;
        llvm::StringRef block = instruction.getParent()->getSinglePredecessor()->getName();
        found.push_back(event + " in " + block.str());
      }
    return found;
  }
  std::string print() const {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module_->print(stream, nullptr);
    return text;
  }
  llvm::Module& module() { return *module_; }

 private:
  static std::string name_of(const llvm::Value* address) {
    const llvm::DataLayout* layout = nullptr;
    if (const auto* instruction = llvm::dyn_cast<llvm::Instruction>(address))
      layout = &instruction->getDataLayout();
    if (!address->getName().empty() || !layout) return address->getName().str();
    llvm::APInt offset(64, 0);
    const llvm::Value* base = address->stripAndAccumulateConstantOffsets(*layout, offset, true);
    return base->getName().str() + "+" + std::to_string(offset.getSExtValue());
  }
  static std::string describe(const llvm::Instruction& instruction) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
      return load->getPointerOperand()->getName().starts_with("__dh_")
                 ? ""
                 : (load->isAtomic() ? "atomic read " : "read ") + name_of(load->getPointerOperand());
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
      return (store->isAtomic() ? "atomic write " : "write ") + name_of(store->getPointerOperand());
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (!call || call->getIntrinsicID() != llvm::Intrinsic::not_intrinsic) return "";
    const llvm::Function* callee = call->getCalledFunction();
    if (!callee) return call->isInlineAsm() ? "asm" : "call";
    const llvm::StringRef name = callee->getName();
    if (name == "pthread_mutex_lock") return "lock";
    if (name == "pthread_mutex_unlock") return "unlock";
    if (!name.starts_with("__dh_monitor_")) return name.str();
    const auto kind = [&](unsigned argument) {
      const uint64_t what = llvm::cast<llvm::ConstantInt>(call->getArgOperand(argument))->getZExtValue();
      return (what & kDhMonitorStrong) != 0 ? std::string("strong ") : std::string("weak ");
    };
    const std::string address = call->arg_empty() ? "" : name_of(call->getArgOperand(0));
    if (name == "__dh_monitor_start") return kind(1) + address;
    if (name == "__dh_monitor_start_range") return kind(2) + "range " + address;
    if (name == "__dh_monitor_start_strided") return kind(4) + "strided " + address;
    if (name == "__dh_monitor_keep") return "keep " + kind(1) + address;
    if (name == "__dh_monitor_release" || name == "__dh_monitor_release_ahead") return "stop";
    if (name == "__dh_monitor_calling") return "ask";
    if (name == "__dh_monitor_calling_known") return "ask whose";
    return "";
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

}  // namespace deadheat::instrument::testing
