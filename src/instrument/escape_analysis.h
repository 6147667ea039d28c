// Memory that no other thread can reach needs no check.
//
// Private are: stack variables and by-value parameters whose address is never captured anywhere in the
// function, fresh heap blocks (the result of a noalias call) that are never captured, and thread-local
// variables of internal linkage whose address is captured nowhere in the module, and what arguments point to
// that the caller has declared private. Constant are: globals that
// are constant, and loads that the front end marked as invariant (virtual tables).
//
// "Captured before this access" would not do. A variable that is initialised, and only then published, can
// race with its initialisation if the publication orders nothing (a relaxed store of its address): only
// memory that is never captured is certainly not shared. So the question is asked once per object, not once
// per access.
//
// Tested by escape_analysis_test.cc.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>

namespace deadheat::instrument {

// Thread-local variables, asked once per module.
class ThreadLocals {
 public:
  bool is_private(const llvm::GlobalVariable& variable);

 private:
  llvm::DenseMap<const llvm::GlobalVariable*, bool> known_;
};

class EscapeAnalysis {
 public:
  // `private_arguments`, a bit each: what they point to is private (private_versions.h).
  EscapeAnalysis(ThreadLocals& thread_locals, llvm::AAResults& aliases, uint32_t private_arguments = 0)
      : thread_locals_(thread_locals), aliases_(aliases), private_arguments_(private_arguments) {}

  // Every object that `address` may point into is private.
  bool is_private(const llvm::Value* address);
  // Nobody ever writes what `load` reads.
  bool is_constant(const llvm::LoadInst& load);
  bool is_constant(const llvm::Value* address);
  // The address of this stack variable leaves the function's own hands.
  bool escapes(const llvm::AllocaInst& variable) { return !is_private_object(&variable); }

 private:
  bool is_private_object(const llvm::Value* object);

  ThreadLocals& thread_locals_;
  llvm::AAResults& aliases_;
  uint32_t private_arguments_;
  llvm::DenseMap<const llvm::Value*, bool> known_;
};

// Stack variables of `function` whose address escapes, in order.
llvm::SmallVector<llvm::AllocaInst*, 8> escaping_variables(llvm::Function& function, EscapeAnalysis& escapes);

}  // namespace deadheat::instrument
