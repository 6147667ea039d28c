// Atomics in mirrored code: all done by slow_hooks.cc, which knows their sequencers.
#include <llvm/IR/IntrinsicInst.h>

#include "instrument/record/pieces.h"
#include "instrument/record/plan.h"
#include "replay/abi.h"
#include "replay/function_mirror.h"

namespace deadheat::replay {

using namespace llvm;
using instrument::record::from_words;
using instrument::record::operation_of;
using instrument::record::to_words;

Value* FunctionMirror::wide_atomic(IRBuilder<>& builder, Value* address, Value* expected, Value* desired,
                                   unsigned operation, Type* type, Value* site) {
  IRBuilder<> entry(&*function_->getEntryBlock().begin());
  Type* const words = ArrayType::get(builder.getInt64Ty(), 2);
  const auto buffer = [&](Value* value) -> Value* {
    Value* const memory = entry.CreateAlloca(words);
    if (value == nullptr) return memory;
    const SmallVector<Value*, 4> pieces = to_words(builder, value);
    for (unsigned i = 0; i < 2; ++i)
      builder.CreateStore(pieces[i], builder.CreateConstGEP1_64(builder.getInt64Ty(), memory, i));
    return memory;
  };
  Value* const before = buffer(nullptr);
  hooks_.call(
      builder, "__dh_rep_atomic16",
      {thread_, address, buffer(expected), buffer(desired), before, builder.getInt32(operation), site});
  Value* const low = builder.CreateLoad(builder.getInt64Ty(), before);
  Value* const high =
      builder.CreateLoad(builder.getInt64Ty(), builder.CreateConstGEP1_64(builder.getInt64Ty(), before, 1));
  return from_words(builder, type, {low, high});
}

void FunctionMirror::mirror_atomic(Instruction& instruction, Value* site) {
  IRBuilder<> builder(&instruction);
  const DataLayout& layout = module_.getDataLayout();
  const auto word = [&](Value* value) { return to_words(builder, value)[0]; };
  const auto size_of = [&](Type* type) { return static_cast<uint32_t>(layout.getTypeStoreSize(type)); };
  const auto atomic = [&](Value* pointer, Value* operand, Value* expected, uint32_t operation,
                          Type* type) -> Value* {
    Value* const address = as_word(builder, pointer);
    if (size_of(type) > 8) return wide_atomic(builder, address, expected, operand, operation, type, site);
    if (operation == kDhAtomicLoad && is_bare(variant_) && isPowerOf2_32(size_of(type)))
      return from_words(builder, type,
                        {value_hook(builder, "__dh_rep_atomic_load" + std::to_string(size_of(type)),
                                    {address, site}, builder.getInt64Ty())});
    Value* const before =
        hooks_.call(builder, "__dh_rep_atomic", builder.getInt64Ty(),
                    {thread_, address, operand == nullptr ? builder.getInt64(0) : word(operand),
                     expected == nullptr ? builder.getInt64(0) : word(expected), builder.getInt32(operation),
                     builder.getInt32(size_of(type)), site});
    return operation == kDhAtomicStore ? before : from_words(builder, type, {before});
  };
  if (auto* load = dyn_cast<LoadInst>(&instruction)) {
    load->replaceAllUsesWith(
        atomic(load->getPointerOperand(), nullptr, nullptr, kDhAtomicLoad, load->getType()));
  } else if (auto* store = dyn_cast<StoreInst>(&instruction)) {
    atomic(store->getPointerOperand(), store->getValueOperand(), nullptr, kDhAtomicStore,
           store->getValueOperand()->getType());
  } else if (auto* change = dyn_cast<AtomicRMWInst>(&instruction)) {
    change->replaceAllUsesWith(atomic(change->getPointerOperand(), change->getValOperand(), nullptr,
                                      operation_of(*change), change->getType()));
  } else if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
    Value* const before =
        atomic(exchange->getPointerOperand(), exchange->getNewValOperand(), exchange->getCompareOperand(),
               kDhAtomicCompareExchange, exchange->getCompareOperand()->getType());
    Value* pair = builder.CreateInsertValue(PoisonValue::get(exchange->getType()), before, 0);
    pair = builder.CreateInsertValue(pair, builder.CreateICmpEQ(before, exchange->getCompareOperand()), 1);
    exchange->replaceAllUsesWith(pair);
  } else {
    hooks_.call(builder, "__dh_rep_fence", {thread_, site});
  }
  instruction.eraseFromParent();
}

}  // namespace deadheat::replay
