// Calls, exceptions and jumps in mirrored code.
#include <llvm/IR/IntrinsicInst.h>

#include "instrument/record/pieces.h"
#include "replay/abi.h"
#include "replay/function_mirror.h"

namespace deadheat::replay {

using namespace llvm;
using instrument::record::is_chosen_late;
using instrument::record::may_return_nothing;
using instrument::record::Piece;
using instrument::record::pieces_of;
using instrument::record::to_words;

FunctionMirror::Cut FunctionMirror::cut(CallBase& call) {
  BasicBlock* const block = call.getParent();
  auto* const invoke = dyn_cast<InvokeInst>(&call);
  if (invoke == nullptr) {
    BasicBlock* const tail = block->splitBasicBlock(call.getNextNode()->getIterator());
    block->getTerminator()->eraseFromParent();
    return {block, tail, nullptr};
  }
  BasicBlock* const normal = invoke->getNormalDest();
  BasicBlock* const pad = invoke->getUnwindDest();
  BasicBlock* const tail = BasicBlock::Create(context_, "", function_, normal);
  BranchInst::Create(normal, tail);
  normal->replacePhiUsesWith(block, tail);
  BasicBlock* const caught = BasicBlock::Create(context_, "", function_, pad);
  IRBuilder<> builder(caught);
  builder.CreateStore(builder.getInt32(kDhNotUnwinding), field(builder, offsetof(DhReplay, unwinding)));
  set_depth(builder, depth_);
  builder.CreateBr(pad);
  pad->replacePhiUsesWith(block, caught);
  return {block, tail, caught};
}

BasicBlock* FunctionMirror::leave_block() {
  if (leave_ != nullptr) return leave_;
  leave_ = BasicBlock::Create(context_, "", function_);
  IRBuilder<> builder(leave_);
  Type* const type = function_->getReturnType();
  if (type->isVoidTy())
    builder.CreateRetVoid();
  else
    builder.CreateRet(UndefValue::get(type));
  return leave_;
}

BasicBlock* FunctionMirror::unwinding_block(const Cut& cut) {
  if (cut.caught == nullptr) return leave_block();
  BasicBlock* const block = BasicBlock::Create(context_, "", function_);
  IRBuilder<> builder(block);
  Value* const kind = builder.CreateLoad(builder.getInt32Ty(), field(builder, offsetof(DhReplay, unwinding)));
  Value* const target = builder.CreateLoad(builder.getInt32Ty(), field(builder, offsetof(DhReplay, target)));
  Value* const is_landing = builder.CreateICmpEQ(kind, builder.getInt32(kDhToLandingPad));
  Value* const is_here = builder.CreateICmpEQ(target, builder.CreateAdd(depth_, builder.getInt32(1)));
  builder.CreateCondBr(builder.CreateAnd(is_landing, is_here), cut.caught, leave_block());
  return block;
}

void FunctionMirror::set_depth(IRBuilder<>& builder, Value* depth) {
  builder.CreateStore(depth, field(builder, offsetof(DhReplay, depth)));
}

void FunctionMirror::settle(IRBuilder<>& builder, BasicBlock* on_unwinding, bool is_invoke) {
  if (!is_bare(variant_)) hooks_.call(builder, "__dh_rep_call_end", {thread_, frame_});
  Value* const unwinding =
      builder.CreateLoad(builder.getInt32Ty(), field(builder, offsetof(DhReplay, unwinding)));
  BasicBlock* const returned = BasicBlock::Create(context_, "", function_);
  builder.CreateCondBr(builder.CreateICmpNE(unwinding, builder.getInt32(kDhNotUnwinding)), on_unwinding,
                       returned);
  builder.SetInsertPoint(returned);
  if (is_invoke) set_depth(builder, depth_);
}

Value* FunctionMirror::call_native(IRBuilder<>& builder, CallBase& call, Value* code) {
  const SmallVector<Value*, 8> arguments(call.args());
  CallInst* const native = builder.CreateCall(call.getFunctionType(), code, arguments);
  native->setCallingConv(call.getCallingConv());
  native->setAttributes(passing_attributes(context_, call.getAttributes(), call.arg_size())
                            .addFnAttribute(context_, Attribute::NoUnwind));
  return native;
}

// Only words that can hold an address.
void FunctionMirror::pass_arguments(IRBuilder<>& builder, CallBase& call) {
  for (Value* argument : call.args()) {
    Type* const type = argument->getType();
    if (type->isMetadataTy() || type->isTokenTy() || type->isFPOrFPVectorTy()) continue;
    const SmallVector<Piece, 4> pieces = pieces_of(type, module_.getDataLayout());
    if (pieces.empty() || pieces.front().size != 8) continue;
    for (Value* word : to_words(builder, argument))
      hooks_.call(builder, "__dh_rep_argument",
                  {thread_, word, builder.getInt32(type->isPointerTy() ? 1 : 0)});
  }
}

void FunctionMirror::mirror_call(const Point& point) {
  auto& call = *cast<CallBase>(map_[point.instruction]);
  const bool is_invoke = isa<InvokeInst>(call);
  const bool has_result = !call.getType()->isVoidTy();
  Value* const site = site_value(point.site);
  const Cut parts = cut(call);
  BasicBlock* const unwinding = unwinding_block(parts);
  IRBuilder<> builder(parts.block);
  if (!is_bare(variant_)) hooks_.call(builder, "__dh_rep_call_begin", {thread_, frame_, site});
  if (is_invoke) set_depth(builder, builder.CreateAdd(depth_, builder.getInt32(1)));

  SmallVector<std::pair<Value*, BasicBlock*>, 2> results;
  if (point.kind == PointKind::kVisibleCall) {
    const auto* const callee = cast<CallBase>(point.instruction)->getCalledFunction();
    const std::optional<std::size_t> index = code_.index_of(*callee);
    Value* const code =
        hooks_.call(builder, "__dh_rep_code", builder.getPtrTy(),
                    {external(kInstanceSymbol), external(kCodeSymbol), builder.getInt64(index.value_or(0))});
    Value* const result = call_native(builder, call, code);
    settle(builder, unwinding, is_invoke);
    results.emplace_back(result, builder.GetInsertBlock());
    builder.CreateBr(parts.tail);
  } else {
    auto* const words = ArrayType::get(builder.getInt64Ty(), sizeof(DhTargetCache) / 8);
    auto* const cache = new GlobalVariable(module_, words, /*isConstant=*/false, GlobalValue::InternalLinkage,
                                           ConstantAggregateZero::get(words), "dh_target");
    Value* const target = as_word(builder, call.getCalledOperand());
    Value* code = ConstantPointerNull::get(builder.getPtrTy());
    if (!is_chosen_late(*cast<CallBase>(point.instruction)))
      code = hooks_.call(builder, "__dh_rep_target", builder.getPtrTy(), {target, cache});
    Value* has_none = nullptr;
    if (may_return_nothing(*cast<CallBase>(point.instruction)))
      has_none = builder.CreateIsNotNull(
          hooks_.call(builder, "__dh_rep_returns_nothing", builder.getInt32Ty(), {cache}));
    BasicBlock* const visible = BasicBlock::Create(context_, "", function_);
    BasicBlock* const invisible = BasicBlock::Create(context_, "", function_);
    builder.CreateCondBr(builder.CreateIsNotNull(code), visible, invisible);

    builder.SetInsertPoint(visible);
    Value* result = call_native(builder, call, code);
    settle(builder, unwinding, is_invoke);
    if (has_none != nullptr)
      result = builder.CreateSelect(has_none, Constant::getNullValue(call.getType()), result);
    results.emplace_back(result, builder.GetInsertBlock());
    builder.CreateBr(parts.tail);

    builder.SetInsertPoint(invisible);
    if (tells_observers()) pass_arguments(builder, call);
    if (variant_ == Variant::kLive) show_arguments(builder, call);
    value_hook(builder, "__dh_rep_invisible", {target, site});
    settle(builder, unwinding, /*is_invoke=*/false);
    Value* opaque_result = nullptr;
    if (!isa<UnreachableInst>(parts.tail->front())) {
      if (pieces_of(call.getType(), module_.getDataLayout()).empty()) {
        value_hook(builder, "__dh_rep_nothing", {});
        if (has_result) opaque_result = PoisonValue::get(call.getType());
      } else {
        opaque_result = opaque(builder, point.site, call.getType(), code_.plan().key_of(call));
      }
    } else if (has_result) {
      opaque_result = PoisonValue::get(call.getType());
    }
    if (is_invoke) set_depth(builder, depth_);  // as the recorder: its last value belongs to the call
    results.emplace_back(opaque_result, builder.GetInsertBlock());
    builder.CreateBr(parts.tail);
  }
  if (has_result) {
    auto* const phi = PHINode::Create(call.getType(), 2, "", parts.tail->begin());
    for (const auto& [value, from] : results) phi->addIncoming(value, from);
    call.replaceAllUsesWith(phi);
  }
  call.eraseFromParent();
}

void FunctionMirror::mirror_setjmp(const Point& point) {
  auto& call = *cast<CallBase>(map_[point.instruction]);
  const Cut parts = cut(call);
  IRBuilder<> builder(parts.block);
  Value* const buffer = hooks_.call(builder, "__dh_rep_jump_buffer", builder.getPtrTy(),
                                    {thread_, as_word(builder, call.getArgOperand(0))});
  FunctionCallee real = module_.getOrInsertFunction("_setjmp", builder.getInt32Ty(), builder.getPtrTy());
  cast<Function>(real.getCallee())->addFnAttr(Attribute::ReturnsTwice);
  builder.CreateCall(real, {buffer})->addFnAttr(Attribute::ReturnsTwice);
  // The first time and, when the log says `jumped`, again. What it returned is in the log.
  set_depth(builder, depth_);
  if (!is_bare(variant_)) hooks_.call(builder, "__dh_rep_call_end", {thread_, frame_});
  call.replaceAllUsesWith(opaque(builder, point.site, call.getType()));
  builder.CreateBr(parts.tail);
  call.eraseFromParent();
  // Only an exception can lead there, and setjmp throws none.
  if (parts.caught != nullptr) {
    parts.caught->getTerminator()->getSuccessor(0)->removePredecessor(parts.caught);
    parts.caught->eraseFromParent();
  }
}

void FunctionMirror::mirror_landing(const Point& point) {
  auto* const pad = cast<Instruction>(map_[point.instruction]);
  IRBuilder<> builder(pad);
  pad->replaceAllUsesWith(opaque(builder, point.site, pad->getType()));
  pad->eraseFromParent();
}

void FunctionMirror::mirror_resume(const Point& point) {
  auto* const resume = cast<Instruction>(map_[point.instruction]);
  IRBuilder<> builder(resume);
  hooks_.call(builder, "__dh_rep_resume", {thread_, site_value(point.site)});
  builder.CreateBr(leave_block());
  resume->eraseFromParent();
}

}  // namespace deadheat::replay
