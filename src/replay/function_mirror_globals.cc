// Addresses of globals in mirrored code: all from the instance's table.
#include <llvm/IR/InstIterator.h>

#include "replay/function_mirror.h"

namespace deadheat::replay {

using namespace llvm;

bool FunctionMirror::refers_to_globals(const Constant* constant) {
  if (isa<GlobalValue>(constant)) return true;
  if (isa<BlockAddress>(constant)) return true;
  for (const Use& use : constant->operands())
    if (const auto* part = dyn_cast<Constant>(use); part != nullptr && refers_to_globals(part)) return true;
  return false;
}

// `constant` computed from the table of addresses.
Value* FunctionMirror::materialise(Instruction* before, Constant* constant) {
  if (!refers_to_globals(constant)) return constant;
  IRBuilder<> builder(before);
  if (auto* global = dyn_cast<GlobalValue>(constant)) {
    const std::optional<std::size_t> index = code_.index_of(*global);
    if (!index) {
      problem_ = "function " + plan_.function->getName().str() + " refers to " + global->getName().str() +
                 ", which is not among the globals of its plan";
      return PoisonValue::get(constant->getType());
    }
    auto* const address = builder.CreateLoad(
        builder.getPtrTy(), builder.CreateConstGEP1_64(builder.getPtrTy(), external(kGlobalsSymbol), *index));
    address->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(context_, {}));
    return address;
  }
  // Addresses of blocks mean something to computed gotos only, and functions with those are not in a plan.
  if (isa<BlockAddress>(constant)) return Constant::getNullValue(constant->getType());
  if (isa<DSOLocalEquivalent>(constant) || isa<NoCFIValue>(constant))
    return materialise(before, cast<Constant>(constant->getOperand(0)));
  if (auto* expression = dyn_cast<ConstantExpr>(constant)) {
    Instruction* const computed = expression->getAsInstruction();
    computed->insertBefore(before->getIterator());
    for (Use& use : computed->operands())
      if (auto* part = dyn_cast<Constant>(use)) use.set(materialise(computed, part));
    return computed;
  }
  Value* value = PoisonValue::get(constant->getType());
  for (unsigned i = 0; i < constant->getNumOperands(); ++i) {
    Value* const part = materialise(before, cast<Constant>(constant->getOperand(i)));
    value = constant->getType()->isVectorTy() ? builder.CreateInsertElement(value, part, i)
                                              : builder.CreateInsertValue(value, part, i);
  }
  return value;
}

Status FunctionMirror::replace_globals() {
  SmallVector<Instruction*, 64> all;
  for (Instruction& instruction : instructions(*function_)) all.push_back(&instruction);
  DenseMap<std::pair<BasicBlock*, Constant*>, Value*> of_edges;
  for (Instruction* instruction : all) {
    auto* const call = dyn_cast<CallBase>(instruction);
    for (Use& use : instruction->operands()) {
      auto* const constant = dyn_cast<Constant>(use);
      if (constant == nullptr || isa<ConstantData>(constant) || !refers_to_globals(constant)) continue;
      // Hooks and our own tables belong to this module already.
      if (auto* global = dyn_cast<GlobalValue>(constant);
          global != nullptr && global->getParent() == &module_)
        continue;
      if (call != nullptr && call->isCallee(&use)) {
        auto* const intrinsic = dyn_cast<Function>(constant);
        if (intrinsic != nullptr && intrinsic->isIntrinsic()) {
          Function* twin = module_.getFunction(intrinsic->getName());
          if (twin == nullptr) {
            twin = Function::Create(intrinsic->getFunctionType(), GlobalValue::ExternalLinkage,
                                    intrinsic->getName(), module_);
            twin->copyAttributesFrom(intrinsic);
          }
          use.set(twin);
          continue;
        }
      }
      if (auto* phi = dyn_cast<PHINode>(instruction)) {
        // All entries of one predecessor must be one value.
        BasicBlock* const from = phi->getIncomingBlock(use);
        Value*& value = of_edges[{from, constant}];
        if (value == nullptr) value = materialise(from->getTerminator(), constant);
        use.set(value);
      } else {
        use.set(materialise(instruction, constant));
      }
    }
  }
  return Nothing{};
}

}  // namespace deadheat::replay
