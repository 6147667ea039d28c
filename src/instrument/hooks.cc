#include "instrument/hooks.h"

#include <llvm/IR/DebugInfoMetadata.h>

namespace deadheat::instrument {

using namespace llvm;

Hooks::Hooks(Module& module) : module_(module) {}

CallInst* Hooks::call(IRBuilderBase& builder, StringRef name, Type* result, ArrayRef<Value*> arguments) {
  LLVMContext& context = module_.getContext();
  SmallVector<Type*, 6> types;
  AttributeList attributes = AttributeList().addFnAttribute(context, Attribute::NoUnwind);
  const auto is_narrow = [](Type* type) { return type->isIntegerTy() && type->getIntegerBitWidth() < 32; };
  for (Value* argument : arguments) {
    if (is_narrow(argument->getType()))
      attributes = attributes.addParamAttribute(context, types.size(), Attribute::ZExt);
    types.push_back(argument->getType());
  }
  if (is_narrow(result)) attributes = attributes.addRetAttribute(context, Attribute::ZExt);
  FunctionCallee hook =
      module_.getOrInsertFunction(name, FunctionType::get(result, types, /*isVarArg=*/false), attributes);
  CallInst* call = builder.CreateCall(hook, arguments);
  call->setAttributes(attributes.addFnAttribute(context, Attribute::NoMerge));
  return call;
}

CallInst* Hooks::call(IRBuilderBase& builder, StringRef name, ArrayRef<Value*> arguments) {
  return call(builder, name, Type::getVoidTy(module_.getContext()), arguments);
}

DebugLoc location_of(const Instruction& instruction) {
  const auto has_line = [](const DebugLoc& location) { return location && location.getLine() != 0; };
  if (has_line(instruction.getDebugLoc())) return instruction.getDebugLoc();
  // What computes the address or the value stored, then what stands before it in the block.
  for (const Value* operand : instruction.operand_values())
    if (const auto* computed = dyn_cast<Instruction>(operand))
      if (computed->getParent() == instruction.getParent() && has_line(computed->getDebugLoc()))
        return computed->getDebugLoc();
  for (const Instruction* previous = instruction.getPrevNode(); previous; previous = previous->getPrevNode())
    if (has_line(previous->getDebugLoc())) return previous->getDebugLoc();
  if (instruction.getDebugLoc()) return instruction.getDebugLoc();
  // A call without any location inside a function that has debug information is refused by the verifier once
  // the callee has some too (link-time optimisation): the function's own line then.
  if (DISubprogram* function = instruction.getFunction()->getSubprogram())
    return DILocation::get(instruction.getContext(), function->getLine(), 0, function);
  return {};
}

}  // namespace deadheat::instrument
