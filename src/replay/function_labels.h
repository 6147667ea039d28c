// The labels of one function's values: the part of the mirrored pass that a labelled replay adds (flow.h).
//
// Runs on the copy of the function when its entry has been mirrored and nothing else has. Each value of the
// program gets a second one, of 32 bits, next to it; accesses and calls, which the mirror turns into hooks
// afterwards, get the labels they need in the thread's DhLabels in front of them, and behind them what they
// gave is taken from there.
//
//   a value computed from others   the union of its operands' labels (vectors and aggregates: one label)
//   a phi                          a phi of labels
//   a private local                an array of labels, one a byte
//   a load, store, atomic, copy    the hooks' business, by DhLabelRule
//   a call                         labels of arguments in DhLabels; the callee takes them when it is entered,
//                                  and leaves its result's label when it returns
//   what comes from outside        no label; results of inline assembly and of mathematical functions that of
//                                  their operands
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "instrument/hooks.h"
#include "replay/module_code.h"

namespace deadheat::replay {

class FunctionLabels {
 public:
  // `points`: what the copy's instructions are in the plan. `sites`: of its branches and calls, as values.
  FunctionLabels(llvm::Function& function, llvm::Value& thread, instrument::Hooks& hooks,
                 llvm::DenseMap<const llvm::Instruction*, PointKind> points,
                 llvm::DenseMap<const llvm::Instruction*, llvm::Value*> sites);
  // `behind`: the first instruction that is the function's own.
  void run(llvm::Instruction& behind);

 private:
  void enter(llvm::Instruction& behind);
  void visit(llvm::Instruction& instruction);
  void visit_point(llvm::Instruction& instruction, PointKind kind);
  void visit_load(llvm::LoadInst& load);
  void visit_store(llvm::StoreInst& store);
  void visit_atomic(llvm::Instruction& instruction);
  void visit_memory(llvm::MemIntrinsic& intrinsic);
  void visit_call(llvm::CallBase& call);
  void visit_terminator(llvm::Instruction& end);
  void fill_phis();
  // So that there is a place where the result of an invoke is known and nothing else has come.
  void split_invokes();

  // What the next access is given.
  void prepare(llvm::IRBuilder<>& builder, unsigned rule, llvm::Value* from, llvm::Value* to,
               llvm::Value* operand);
  llvm::Value* get(llvm::IRBuilder<>& builder, std::size_t offset);
  void set(llvm::IRBuilder<>& builder, std::size_t offset, llvm::Value* label);
  llvm::Value* field(llvm::IRBuilder<>& builder, std::size_t offset);
  llvm::Value* join(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b);
  llvm::Value* join_operands(llvm::IRBuilder<>& builder, llvm::Instruction& instruction);
  // None for constants and for what the mirror has made.
  llvm::Value* label_of(llvm::Value* value);
  // Where the labels of a private local's bytes are.
  llvm::Value* shadow_of(llvm::IRBuilder<>& builder, llvm::Value* pointer);
  bool is_point(const llvm::Instruction& instruction) const { return points_.contains(&instruction); }

  llvm::Function& function_;
  llvm::Value& thread_;
  instrument::Hooks& hooks_;
  const llvm::DenseMap<const llvm::Instruction*, PointKind> points_;
  const llvm::DenseMap<const llvm::Instruction*, llvm::Value*> sites_;
  const llvm::DataLayout& layout_;
  llvm::Constant* const none_;
  llvm::DenseMap<const llvm::Value*, llvm::Value*> labels_;
  llvm::DenseMap<const llvm::AllocaInst*, llvm::AllocaInst*> shadows_;
  llvm::SmallVector<std::pair<llvm::PHINode*, llvm::PHINode*>, 16> phis_;
};

}  // namespace deadheat::replay
