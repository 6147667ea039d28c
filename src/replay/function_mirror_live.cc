// What live code (variant.h) has besides: it shows what it gives to invisible code, and asks for memory of
// its own.
#include <llvm/IR/IntrinsicInst.h>

#include "instrument/record/pieces.h"
#include "replay/abi.h"
#include "replay/function_mirror.h"

namespace deadheat::replay {

using namespace llvm;
using instrument::record::to_words;

// Live code only. Mathematical functions are computed anew; what has an effect on memory and no result would
// otherwise pass unnoticed.
void FunctionMirror::show_operands(IRBuilder<>& builder, Instruction& instruction, const Point& point) {
  auto* const call = dyn_cast<CallBase>(&instruction);
  if (call == nullptr) return;
  bool is_plain = !call->isInlineAsm();
  for (const Value* argument : call->args())
    is_plain &= argument->getType()->isFloatingPointTy() || argument->getType()->isIntegerTy();
  if (is_plain) show_arguments(builder, *call);
  if (isa<VAStartInst>(call)) {
    // The real list, of the arguments that the mirrored function was really given.
    IRBuilder<> entry(&*function_->getEntryBlock().begin());
    Value* const native = entry.CreateAlloca(ArrayType::get(builder.getInt64Ty(), 3));
    builder.CreateIntrinsic(Intrinsic::vastart, {builder.getPtrTy()}, {native});
    hooks_.call(builder, "__dh_rep_live_va_start",
                {thread_, as_word(builder, call->getArgOperand(0)), native, site_value(point.site)});
    return;
  }
  if (isa<VACopyInst>(call)) {
    hooks_.call(builder, "__dh_rep_live_va_copy",
                {thread_, as_word(builder, call->getArgOperand(0)), as_word(builder, call->getArgOperand(1)),
                 site_value(point.site)});
    return;
  }
  if (call->getType()->isVoidTy() && !call->isInlineAsm())
    hooks_.call(builder, "__dh_rep_live_void", {thread_, site_value(point.site)});
}

// Live code only: an opaque address whose memory a live world has to make, as a copy of what is at `from`.
Value* FunctionMirror::fresh_memory(IRBuilder<>& builder, const Point& point, Value* from, Value* size) {
  Value* const address =
      hooks_.call(builder, "__dh_rep_live_by_value", builder.getInt64Ty(),
                  {thread_, builder.getInt64(code_.first_pseudo_address() + point.site * uint64_t{8}),
                   site_value(point.site), from, size});
  return builder.CreateIntToPtr(address, builder.getPtrTy());
}

Value* FunctionMirror::by_value(IRBuilder<>& builder, const Point& point, Value* passed) {
  return fresh_memory(
      builder, point, passed,
      builder.getInt64(module_.getDataLayout().getTypeAllocSize(point.argument->getParamByValType())));
}

Value* FunctionMirror::dynamic_local(IRBuilder<>& builder, const Point& point, AllocaInst& local) {
  Value* const count = builder.CreateZExtOrTrunc(local.getArraySize(), builder.getInt64Ty());
  const std::uint64_t each = module_.getDataLayout().getTypeAllocSize(local.getAllocatedType());
  return fresh_memory(builder, point, builder.getInt64(0), builder.CreateMul(count, builder.getInt64(each)));
}

// Where live code finds what it gives to invisible code.
void FunctionMirror::show_arguments(IRBuilder<>& builder, CallBase& call) {
  SmallVector<Value*, 8> words;
  for (Value* argument : call.args()) words.append(to_words(builder, argument));
  IRBuilder<> entry(&*function_->getEntryBlock().begin());
  // One buffer for all calls of the function: only one is made at a time.
  if (arguments_ == nullptr || words.size() > argument_capacity_) {
    argument_capacity_ = std::max<std::size_t>(words.size(), 8);
    arguments_ = entry.CreateAlloca(ArrayType::get(builder.getInt64Ty(), argument_capacity_));
  }
  for (std::size_t i = 0; i < words.size(); ++i)
    builder.CreateStore(words[i], builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), arguments_, i));
  builder.CreateStore(arguments_, field(builder, offsetof(DhReplay, call_words)));
  builder.CreateStore(builder.getInt64(words.size()), field(builder, offsetof(DhReplay, call_word_count)));
}

}  // namespace deadheat::replay
