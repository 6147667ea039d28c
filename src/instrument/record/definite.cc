#include "instrument/record/definite.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include "instrument/record/plan.h"

namespace deadheat::instrument::record {

using namespace llvm;

namespace {

bool has_undefined_parts(const Constant* constant) {
  if (isa<UndefValue>(constant)) return true;
  if (!isa<ConstantAggregate>(constant)) return false;
  for (const Use& use : constant->operands())
    if (has_undefined_parts(cast<Constant>(use))) return true;
  return false;
}

Constant* defined(Constant* constant) {
  if (isa<UndefValue>(constant)) return Constant::getNullValue(constant->getType());
  SmallVector<Constant*, 8> parts;
  for (Use& use : constant->operands()) {
    auto* const part = cast<Constant>(use);
    parts.push_back(has_undefined_parts(part) ? defined(part) : part);
  }
  if (auto* structure = dyn_cast<StructType>(constant->getType()))
    return ConstantStruct::get(structure, parts);
  if (auto* array = dyn_cast<ArrayType>(constant->getType())) return ConstantArray::get(array, parts);
  return ConstantVector::get(parts);
}

void define_operands(Instruction& instruction) {
  // The first operand of a chain of insertions is overwritten piece by piece; left alone unless somebody sees
  // it, which only costs an instruction.
  for (Use& use : instruction.operands()) {
    auto* const constant = dyn_cast<Constant>(use);
    if (constant == nullptr || constant->getType()->isTokenTy() || isa<MetadataAsValue>(use.get())) continue;
    if (has_undefined_parts(constant)) use.set(defined(constant));
  }
}

const GlobalVariable* thread_local_in(const Constant* constant) {
  if (const auto* global = dyn_cast<GlobalVariable>(constant))
    return global->isThreadLocal() ? global : nullptr;
  if (!isa<ConstantExpr>(constant) && !isa<ConstantAggregate>(constant)) return nullptr;
  for (const Use& use : constant->operands())
    if (const auto* part = dyn_cast<Constant>(use))
      if (const GlobalVariable* found = thread_local_in(part)) return found;
  return nullptr;
}

// `constant` with the address of every thread-local variable in it computed at run time.
Value* with_addresses(IRBuilder<>& builder, Constant* constant) {
  if (thread_local_in(constant) == nullptr) return constant;
  if (auto* global = dyn_cast<GlobalVariable>(constant)) return builder.CreateThreadLocalAddress(global);
  if (auto* expression = dyn_cast<ConstantExpr>(constant)) {
    SmallVector<Value*, 4> parts;
    for (Use& use : expression->operands()) parts.push_back(with_addresses(builder, cast<Constant>(use)));
    Instruction* const computed = expression->getAsInstruction();
    for (unsigned i = 0; i < parts.size(); ++i) computed->setOperand(i, parts[i]);
    builder.Insert(computed);
    return computed;
  }
  Value* value = PoisonValue::get(constant->getType());
  for (unsigned i = 0; i < constant->getNumOperands(); ++i) {
    Value* const part = with_addresses(builder, cast<Constant>(constant->getOperand(i)));
    value = constant->getType()->isVectorTy() ? builder.CreateInsertElement(value, part, i)
                                              : builder.CreateInsertValue(value, part, i);
  }
  return value;
}

void name_addresses(Instruction& instruction) {
  if (isa<IntrinsicInst>(instruction) &&
      cast<IntrinsicInst>(instruction).getIntrinsicID() == Intrinsic::threadlocal_address)
    return;
  if (isa<LandingPadInst>(instruction)) return;
  auto* const phi = dyn_cast<PHINode>(&instruction);
  for (Use& use : instruction.operands()) {
    auto* const constant = dyn_cast<Constant>(use);
    if (constant == nullptr || thread_local_in(constant) == nullptr) continue;
    BasicBlock* const from = phi == nullptr ? nullptr : phi->getIncomingBlock(use);
    IRBuilder<> builder(phi == nullptr ? &instruction : from->getTerminator());
    builder.SetCurrentDebugLocation(instruction.getDebugLoc());
    Value* const address = with_addresses(builder, constant);
    if (phi == nullptr) {
      use.set(address);
      continue;
    }
    // All entries of one predecessor are one value.
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
      if (phi->getIncomingBlock(i) == from) phi->setIncomingValue(i, address);
  }
}

void clear(IRBuilder<>& builder, AllocaInst& local) {
  builder.CreateAlignedStore(Constant::getNullValue(local.getAllocatedType()), &local, local.getAlign());
}

// Zeros are written piece by piece: large locals that are private are rare, and paid for at every call.
constexpr uint64_t kLargestCleared = 256;

}  // namespace

void make_definite(Function& function, PrivateLocals& locals) {
  SmallVector<Instruction*, 64> all;
  for (Instruction& instruction : instructions(function)) all.push_back(&instruction);
  SmallVector<AllocaInst*, 16> cleared;
  for (Instruction* instruction : all) {
    define_operands(*instruction);
    name_addresses(*instruction);
    if (isa<FPMathOperator>(instruction)) instruction->setFastMathFlags(FastMathFlags());
    auto* const local = dyn_cast<AllocaInst>(instruction);
    if (local == nullptr || local->isArrayAllocation() || !locals.contains(*local)) continue;
    const TypeSize size = local->getModule()->getDataLayout().getTypeAllocSize(local->getAllocatedType());
    if (size.getFixedValue() <= kLargestCleared) cleared.push_back(local);
  }
  BasicBlock::iterator body = function.getEntryBlock().begin();
  while (isa<AllocaInst>(*body)) ++body;
  for (AllocaInst* local : cleared) {
    IRBuilder<> builder(&function.getEntryBlock(), body);
    if (local->getParent() != &function.getEntryBlock() || !local->comesBefore(&*body))
      builder.SetInsertPoint(local->getNextNode());
    clear(builder, *local);
    for (User* user : SmallVector<User*, 8>(local->users())) {
      auto* const mark = dyn_cast<IntrinsicInst>(user);
      if (mark == nullptr || mark->getIntrinsicID() != Intrinsic::lifetime_start) continue;
      builder.SetInsertPoint(mark->getNextNode());
      clear(builder, *local);
    }
  }
  for (const char* name : {"unsafe-fp-math", "no-infs-fp-math", "no-nans-fp-math", "no-signed-zeros-fp-math",
                           "approx-func-fp-math"})
    function.removeFnAttr(name);
}

}  // namespace deadheat::instrument::record
