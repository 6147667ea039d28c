// The thread's counters in a mirrored function's own variables (abi.h): where memory must be up to date, and
// where it is read again.
//
// Around every call of anything that is not a hot hook; at every return. And twice where somebody looks from
// outside:
//
//  - A thread that was killed in an endless loop without any hook stays in it; a timer (Thread::tick)
//  notices, by
//    `run`. So `run` is flushed in every block that lies on a cycle without hooks.
//  - A division may trap, as it did in the recorded run; Thread::trapped wants to know whether the log says
//  so. So
//    `run` is flushed before each one that may. Nothing orders a division behind a store but that its divisor
//    comes from behind it: it goes through an empty piece of assembly.
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "replay/function_mirror.h"

namespace deadheat::replay {

using namespace llvm;

namespace {

constexpr StringRef kCopyName = "dh.copy";
// Hooks that have nothing to do with the counters, and run nothing of the program's.
constexpr StringRef kLightHooks[] = {
    "__dh_rep_enter",     "__dh_rep_call_begin",      "__dh_rep_call_end",   "__dh_rep_argument",
    "__dh_rep_target",    "__dh_rep_returns_nothing", "__dh_rep_code",       "__dh_rep_local",
    "__dh_rep_local_end", "__dh_rep_jump_buffer",     "__dh_rep_join",       "__dh_rep_gather",
    "__dh_rep_spread",    "__dh_rep_branch",          "__dh_rep_copy_labels"};

bool is_light(const CallBase& call) {
  const Function* const callee = call.getCalledFunction();
  return callee != nullptr && is_contained(kLightHooks, callee->getName());
}

bool may_trap(const Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case Instruction::UDiv:
    case Instruction::URem:
      return !isa<ConstantInt>(instruction.getOperand(1)) ||
             cast<ConstantInt>(instruction.getOperand(1))->isZero();
    case Instruction::SDiv:
    case Instruction::SRem: {
      // The smallest number by -1 as well.
      const auto* const divisor = dyn_cast<ConstantInt>(instruction.getOperand(1));
      return divisor == nullptr || divisor->isZero() || divisor->isMinusOne();
    }
    default:
      return false;
  }
}

}  // namespace

void FunctionMirror::make_copies() {
  IRBuilder<> builder(&*function_->getEntryBlock().begin());
  copies_.assign(1, nullptr);  // the thread, when it is known
  for (int i = 0; i < 3; ++i)
    copies_.push_back(builder.CreateAlloca(builder.getInt64Ty(), nullptr, kCopyName));
}

Value* FunctionMirror::value_hook(IRBuilder<>& builder, StringRef name, ArrayRef<Value*> arguments,
                                  Type* result) {
  SmallVector<Value*, 8> all(copies_.begin(), copies_.end());
  all.append(arguments.begin(), arguments.end());
  return hooks_.call(builder, name, result == nullptr ? builder.getVoidTy() : result, all);
}

bool FunctionMirror::is_counting(const CallBase& call) const { return is_contained(call.args(), copies_[1]); }

void FunctionMirror::keep_copies() {
  if (variant_ == Variant::kLive) return;
  flush_where_no_hook_is();
  SmallVector<CallBase*, 32> calls;
  SmallVector<Instruction*, 16> ends;
  for (Instruction& instruction : instructions(*function_)) {
    if (isa<ReturnInst>(instruction)) ends.push_back(&instruction);
    auto* const call = dyn_cast<CallBase>(&instruction);
    if (call == nullptr || call->isInlineAsm() || is_counting(*call)) continue;
    if (is_light(*call)) continue;
    if (auto* const intrinsic = dyn_cast<IntrinsicInst>(call);
        intrinsic != nullptr && intrinsic->getIntrinsicID() != Intrinsic::trap &&
        intrinsic->getIntrinsicID() != Intrinsic::ubsantrap &&
        intrinsic->getIntrinsicID() != Intrinsic::debugtrap)
      continue;
    calls.push_back(call);
  }
  for (CallBase* call : calls) {
    IRBuilder<> builder(call);
    value_hook(builder, "__dh_rep_flush", {});
    if (call->doesNotReturn() || call->isTerminator()) continue;
    builder.SetInsertPoint(call->getNextNode());
    value_hook(builder, "__dh_rep_reload", {});
  }
  for (Instruction* end : ends) {
    IRBuilder<> builder(end);
    value_hook(builder, "__dh_rep_flush", {});
  }
}

void FunctionMirror::flush_where_no_hook_is() {
  // Blocks without hooks, but for those that no cycle of such blocks leads through.
  SmallPtrSet<BasicBlock*, 16> silent;
  SmallVector<Instruction*, 8> traps;
  for (BasicBlock& block : *function_) {
    bool is_silent = true;
    for (Instruction& instruction : block) {
      if (auto* const call = dyn_cast<CallBase>(&instruction))
        is_silent &= call->isInlineAsm() || isa<IntrinsicInst>(call) || is_light(*call);
      if (may_trap(instruction)) traps.push_back(&instruction);
    }
    if (is_silent) silent.insert(&block);
  }
  const auto is_in = [&](BasicBlock* block) { return silent.contains(block); };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (BasicBlock& block : *function_) {
      if (!silent.contains(&block)) continue;
      if (any_of(successors(&block), is_in) && any_of(predecessors(&block), is_in)) continue;
      silent.erase(&block);
      has_changed = true;
    }
  }
  for (BasicBlock& block : *function_) {
    if (!silent.contains(&block)) continue;
    IRBuilder<> builder(&block, block.getFirstInsertionPt());
    value_hook(builder, "__dh_rep_flush_run", {});
  }
  for (Instruction* trap : traps) {
    IRBuilder<> builder(trap);
    value_hook(builder, "__dh_rep_flush_run", {});
    Value* const divisor = trap->getOperand(1);
    Type* const type = divisor->getType();
    if (type->isIntegerTy(8) || type->isIntegerTy(16) || type->isIntegerTy(32) || type->isIntegerTy(64)) {
      auto* const nothing = InlineAsm::get(FunctionType::get(type, {type}, false), "",
                                           type->isIntegerTy(8) ? "=q,0,~{memory}" : "=r,0,~{memory}",
                                           /*hasSideEffects=*/true);
      trap->setOperand(1, builder.CreateCall(nothing, {divisor}));
      continue;
    }
    // Vectors: through memory.
    IRBuilder<> entry(&*function_->getEntryBlock().begin());
    Value* const memory = entry.CreateAlloca(type);
    builder.CreateStore(divisor, memory, /*isVolatile=*/true);
    trap->setOperand(1, builder.CreateLoad(type, memory, /*isVolatile=*/true));
  }
}

// --- mirror.h

void promote_copies(Module& module, std::size_t index) {
  Function& function = *module.getFunction(code_symbol(index));
  SmallVector<AllocaInst*, 3> copies;
  for (Instruction& instruction : function.getEntryBlock())
    if (auto* const variable = dyn_cast<AllocaInst>(&instruction);
        variable != nullptr && variable->getName().starts_with(kCopyName) && isAllocaPromotable(variable))
      copies.push_back(variable);
  DominatorTree tree(function);
  PromoteMemToReg(copies, tree);
}

}  // namespace deadheat::replay
