// The hooks of runtime/abi.h as the pass sees them: declarations in the module being instrumented.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace deadheat::instrument {

class Hooks {
 public:
  explicit Hooks(llvm::Module& module);

  // Calls the hook `name`; its type is that of the arguments and `result`. Narrow integers are zero-extended,
  // as the C ABI wants. No hook throws, and no two calls of a hook may be merged: each stands for its own
  // line.
  llvm::CallInst* call(llvm::IRBuilderBase& builder, llvm::StringRef name, llvm::Type* result,
                       llvm::ArrayRef<llvm::Value*> arguments);
  llvm::CallInst* call(llvm::IRBuilderBase& builder, llvm::StringRef name,
                       llvm::ArrayRef<llvm::Value*> arguments);

  static bool is_hook_name(llvm::StringRef name) { return name.starts_with("__dh_"); }

 private:
  llvm::Module& module_;
};

// Where a report of `instruction` should point. Optimisation leaves some accesses without a line: then the
// nearest instruction that has one speaks for it.
llvm::DebugLoc location_of(const llvm::Instruction& instruction);

}  // namespace deadheat::instrument
