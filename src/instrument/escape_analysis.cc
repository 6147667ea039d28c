#include "instrument/escape_analysis.h"

#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

namespace deadheat::instrument {

using namespace llvm;

namespace {

// Beyond so many uses an object counts as captured; functions with more are generated ones.
constexpr unsigned kMaxUses = 1000;

bool is_captured(const Value* object) {
  return PointerMayBeCaptured(object, /*ReturnCaptures=*/true, /*StoreCaptures=*/true, kMaxUses);
}

}  // namespace

bool ThreadLocals::is_private(const GlobalVariable& variable) {
  if (!variable.isThreadLocal() || !variable.hasLocalLinkage()) return false;
  auto [entry, inserted] = known_.try_emplace(&variable, false);
  if (!inserted) return entry->second;
  bool is_private = true;
  for (const User* user : variable.users()) {
    // Every legitimate use goes through the intrinsic that yields this thread's instance; anything else (an
    // initialiser, a constant expression, an alias) is not worth following.
    const auto* address = dyn_cast<IntrinsicInst>(user);
    if (!address || address->getIntrinsicID() != Intrinsic::threadlocal_address || is_captured(address)) {
      is_private = false;
      break;
    }
  }
  return known_[&variable] = is_private;
}

bool EscapeAnalysis::is_private_object(const Value* object) {
  auto [entry, inserted] = known_.try_emplace(object, false);
  if (!inserted) return entry->second;
  bool is_private = false;
  if (isa<AllocaInst>(object) || isNoAliasCall(object)) {
    is_private = !is_captured(object);
  } else if (const auto* parameter = dyn_cast<Argument>(object)) {
    const unsigned number = parameter->getArgNo();
    is_private = (number < 32 && (private_arguments_ >> number & 1) != 0) ||
                 (parameter->hasByValAttr() && !is_captured(parameter));
  } else if (const auto* variable = dyn_cast<GlobalVariable>(object)) {
    // Looking for the object goes through the intrinsic that yields this thread's instance.
    is_private = thread_locals_.is_private(*variable);
  }
  return known_[object] = is_private;
}

bool EscapeAnalysis::is_private(const Value* address) {
  SmallVector<const Value*, 4> objects;
  getUnderlyingObjects(address, objects, /*LI=*/nullptr, /*MaxLookup=*/0);
  return !objects.empty() && all_of(objects, [&](const Value* object) { return is_private_object(object); });
}

bool EscapeAnalysis::is_constant(const LoadInst& load) {
  if (load.hasMetadata(LLVMContext::MD_invariant_load)) return true;
  return isNoModRef(aliases_.getModRefInfoMask(MemoryLocation::get(&load)));
}

bool EscapeAnalysis::is_constant(const Value* address) {
  const auto* variable = dyn_cast<GlobalVariable>(getUnderlyingObject(address, /*MaxLookup=*/0));
  return variable && variable->isConstant();
}

SmallVector<AllocaInst*, 8> escaping_variables(Function& function, EscapeAnalysis& escapes) {
  SmallVector<AllocaInst*, 8> variables;
  for (Instruction& instruction : instructions(function)) {
    auto* variable = dyn_cast<AllocaInst>(&instruction);
    if (!variable || variable->isSwiftError() || variable->isUsedWithInAlloca()) continue;
    if (variable->getAllocatedType()->isScalableTy() || !escapes.escapes(*variable)) continue;
    variables.push_back(variable);
  }
  return variables;
}

}  // namespace deadheat::instrument
