#include "replay/function_labels.h"

#include <llvm/ADT/PostOrderIterator.h>

#include "replay/abi.h"

namespace deadheat::replay {

using namespace llvm;

namespace {

constexpr std::size_t at(std::size_t in_labels) { return offsetof(DhReplay, labels) + in_labels; }

std::size_t argument_at(std::size_t i) {
  return at(offsetof(DhLabels, arguments)) + 4 * std::min<std::size_t>(i, kDhMaxLabels - 1);
}

}  // namespace

FunctionLabels::FunctionLabels(Function& function, Value& thread, instrument::Hooks& hooks,
                               DenseMap<const Instruction*, PointKind> points,
                               DenseMap<const Instruction*, Value*> sites)
    : function_(function),
      thread_(thread),
      hooks_(hooks),
      points_(std::move(points)),
      sites_(std::move(sites)),
      layout_(function.getParent()->getDataLayout()),
      none_(ConstantInt::get(Type::getInt32Ty(function.getContext()), 0)) {}

void FunctionLabels::run(Instruction& behind) {
  split_invokes();
  enter(behind);
  SmallVector<Instruction*, 64> all;
  const ReversePostOrderTraversal<Function*> blocks(&function_);
  for (BasicBlock* block : blocks)
    for (Instruction& instruction : *block) all.push_back(&instruction);
  // First, because a value may come from a block that is visited later.
  for (Instruction* instruction : all)
    if (auto* phi = dyn_cast<PHINode>(instruction)) {
      IRBuilder<> builder(phi);
      PHINode* const label = builder.CreatePHI(builder.getInt32Ty(), phi->getNumIncomingValues());
      labels_[phi] = label;
      phis_.emplace_back(phi, label);
    }
  for (Instruction* instruction : all) visit(*instruction);
  fill_phis();
}

void FunctionLabels::split_invokes() {
  SmallVector<InvokeInst*, 8> invokes;
  for (BasicBlock& block : function_)
    if (auto* invoke = dyn_cast<InvokeInst>(block.getTerminator()); invoke && is_point(*invoke))
      invokes.push_back(invoke);
  for (InvokeInst* invoke : invokes) {
    BasicBlock* const normal = invoke->getNormalDest();
    BasicBlock* const between = BasicBlock::Create(function_.getContext(), "", &function_, normal);
    BranchInst::Create(normal, between);
    invoke->setNormalDest(between);
    normal->replacePhiUsesWith(invoke->getParent(), between);
  }
}

void FunctionLabels::enter(Instruction& behind) {
  IRBuilder<> builder(&behind);
  for (Argument& argument : function_.args())
    labels_[&argument] = get(builder, argument_at(argument.getArgNo()));
}

void FunctionLabels::fill_phis() {
  for (const auto& [phi, label] : phis_)
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
      label->addIncoming(label_of(phi->getIncomingValue(i)), phi->getIncomingBlock(i));
}

// --- Instructions

void FunctionLabels::visit(Instruction& instruction) {
  if (isa<PHINode>(instruction)) return;
  if (const auto point = points_.find(&instruction); point != points_.end())
    return visit_point(instruction, point->second);
  if (auto* local = dyn_cast<AllocaInst>(&instruction)) {
    const std::optional<TypeSize> size = local->getAllocationSize(layout_);
    if (!size || size->getFixedValue() == 0) return;
    const std::uint64_t bytes = size->getFixedValue();
    IRBuilder<> builder(&function_.getEntryBlock().front());
    shadows_[local] = builder.CreateAlloca(ArrayType::get(builder.getInt32Ty(), bytes));
    builder.SetInsertPoint(cast<Instruction>(&thread_));
    builder.CreateMemSet(shadows_[local], builder.getInt8(0), 4 * bytes, MaybeAlign(4));
    return;
  }
  if (auto* load = dyn_cast<LoadInst>(&instruction)) return visit_load(*load);
  if (auto* store = dyn_cast<StoreInst>(&instruction)) return visit_store(*store);
  if (instruction.isTerminator()) return visit_terminator(instruction);
  if (instruction.getType()->isVoidTy() || instruction.getType()->isTokenTy()) return;
  if (auto* call = dyn_cast<CallBase>(&instruction);
      call && call->getCalledFunction() &&
      instrument::Hooks::is_hook_name(call->getCalledFunction()->getName()))
    return;
  IRBuilder<> builder(instruction.getNextNode());
  labels_[&instruction] = join_operands(builder, instruction);
}

void FunctionLabels::visit_point(Instruction& instruction, PointKind kind) {
  switch (kind) {
    case PointKind::kLoad:
      return visit_load(cast<LoadInst>(instruction));
    case PointKind::kStore:
      return visit_store(cast<StoreInst>(instruction));
    case PointKind::kAtomic:
      return visit_atomic(instruction);
    case PointKind::kCopy:
    case PointKind::kFill:
      return visit_memory(cast<MemIntrinsic>(instruction));
    case PointKind::kCall:
    case PointKind::kVisibleCall:
      return visit_call(cast<CallBase>(instruction));
    case PointKind::kOpaque: {
      if (instruction.getType()->isVoidTy() || instruction.getType()->isTokenTy()) return;
      auto* const invoke = dyn_cast<InvokeInst>(&instruction);
      IRBuilder<> builder(invoke ? &invoke->getNormalDest()->front() : instruction.getNextNode());
      labels_[&instruction] = join_operands(builder, instruction);
      return;
    }
    case PointKind::kLocal:
    case PointKind::kByValue:
    case PointKind::kSetjmp:
    case PointKind::kLandingPad:
    case PointKind::kResume:
    case PointKind::kDropped:
      return;
  }
}

void FunctionLabels::visit_load(LoadInst& load) {
  IRBuilder<> builder(&load);
  if (!is_point(load)) {
    builder.SetInsertPoint(load.getNextNode());
    const auto bytes = static_cast<std::uint32_t>(layout_.getTypeStoreSize(load.getType()).getFixedValue());
    Value* const shadow = bytes == 0 ? nullptr : shadow_of(builder, load.getPointerOperand());
    if (shadow != nullptr)
      labels_[&load] = hooks_.call(builder, "__dh_rep_gather", builder.getInt32Ty(),
                                   {&thread_, shadow, builder.getInt32(bytes)});
    return;
  }
  prepare(builder, kDhLabelPlain, label_of(load.getPointerOperand()), none_, none_);
  builder.SetInsertPoint(load.getNextNode());
  labels_[&load] = get(builder, at(offsetof(DhLabels, read)));
}

void FunctionLabels::visit_store(StoreInst& store) {
  IRBuilder<> builder(&store);
  Value* const label = label_of(store.getValueOperand());
  if (is_point(store))
    return prepare(builder, kDhLabelPlain, none_, label_of(store.getPointerOperand()), label);
  const auto bytes = static_cast<std::uint32_t>(
      layout_.getTypeStoreSize(store.getValueOperand()->getType()).getFixedValue());
  Value* const shadow = bytes == 0 ? nullptr : shadow_of(builder, store.getPointerOperand());
  if (shadow != nullptr) hooks_.call(builder, "__dh_rep_spread", {shadow, builder.getInt32(bytes), label});
}

void FunctionLabels::visit_atomic(Instruction& instruction) {
  if (auto* load = dyn_cast<LoadInst>(&instruction)) return visit_load(*load);
  if (auto* store = dyn_cast<StoreInst>(&instruction)) return visit_store(*store);
  if (isa<FenceInst>(instruction)) return;
  IRBuilder<> builder(&instruction);
  Value* compared = none_;
  if (auto* change = dyn_cast<AtomicRMWInst>(&instruction)) {
    Value* const address = label_of(change->getPointerOperand());
    prepare(builder, change->getOperation() == AtomicRMWInst::Xchg ? kDhLabelPlain : kDhLabelUpdate, address,
            address, label_of(change->getValOperand()));
  } else {
    auto& exchange = cast<AtomicCmpXchgInst>(instruction);
    Value* const address = label_of(exchange.getPointerOperand());
    prepare(builder, kDhLabelPlain, address, address, label_of(exchange.getNewValOperand()));
    compared = label_of(exchange.getCompareOperand());
  }
  builder.SetInsertPoint(instruction.getNextNode());
  labels_[&instruction] = join(builder, get(builder, at(offsetof(DhLabels, read))), compared);
}

void FunctionLabels::visit_memory(MemIntrinsic& intrinsic) {
  IRBuilder<> builder(&intrinsic);
  Value* const to = join(builder, label_of(intrinsic.getRawDest()), label_of(intrinsic.getLength()));
  if (auto* copy = dyn_cast<MemTransferInst>(&intrinsic))
    prepare(builder, kDhLabelCopy, label_of(copy->getRawSource()), to, none_);
  else
    prepare(builder, kDhLabelPlain, none_, to, label_of(cast<MemSetInst>(intrinsic).getValue()));
}

void FunctionLabels::visit_call(CallBase& call) {
  IRBuilder<> builder(&call);
  Value* rest = none_;
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    Value* label = label_of(call.getArgOperand(i));
    if (i + 1 >= kDhMaxLabels) label = rest = join(builder, rest, label);
    set(builder, argument_at(i), label);
  }
  set(builder, at(offsetof(DhLabels, count)),
      builder.getInt32(std::min<unsigned>(call.arg_size(), kDhMaxLabels)));
  if (Value* const target = label_of(call.getCalledOperand()); target != none_)
    hooks_.call(builder, "__dh_rep_branch", {&thread_, target, sites_.lookup(&call)});
  // Nothing may stand between a call that does not return and the end of its block.
  if (call.use_empty()) return;
  auto* const invoke = dyn_cast<InvokeInst>(&call);
  builder.SetInsertPoint(invoke ? &invoke->getNormalDest()->front() : call.getNextNode());
  labels_[&call] = get(builder, at(offsetof(DhLabels, result)));
}

void FunctionLabels::visit_terminator(Instruction& end) {
  IRBuilder<> builder(&end);
  Value* condition = none_;
  if (auto* result = dyn_cast<ReturnInst>(&end)) {
    Value* const value = result->getReturnValue();
    return set(builder, at(offsetof(DhLabels, result)), value == nullptr ? none_ : label_of(value));
  }
  if (auto* branch = dyn_cast<BranchInst>(&end); branch && branch->isConditional())
    condition = label_of(branch->getCondition());
  else if (auto* choice = dyn_cast<SwitchInst>(&end))
    condition = label_of(choice->getCondition());
  if (condition != none_) hooks_.call(builder, "__dh_rep_branch", {&thread_, condition, sites_.lookup(&end)});
}

// --- Small things

void FunctionLabels::prepare(IRBuilder<>& builder, unsigned rule, Value* from, Value* to, Value* operand) {
  set(builder, at(offsetof(DhLabels, rule)), builder.getInt32(rule));
  set(builder, at(offsetof(DhLabels, from)), from);
  set(builder, at(offsetof(DhLabels, to)), to);
  set(builder, at(offsetof(DhLabels, operand)), operand);
  set(builder, at(offsetof(DhLabels, read)), none_);
}

Value* FunctionLabels::field(IRBuilder<>& builder, std::size_t offset) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), &thread_, offset);
}

Value* FunctionLabels::get(IRBuilder<>& builder, std::size_t offset) {
  return builder.CreateLoad(builder.getInt32Ty(), field(builder, offset));
}

void FunctionLabels::set(IRBuilder<>& builder, std::size_t offset, Value* label) {
  builder.CreateStore(label, field(builder, offset));
}

Value* FunctionLabels::join(IRBuilder<>& builder, Value* a, Value* b) {
  if (a == b || b == none_) return a;
  if (a == none_) return b;
  return hooks_.call(builder, "__dh_rep_join", builder.getInt32Ty(), {&thread_, a, b});
}

Value* FunctionLabels::join_operands(IRBuilder<>& builder, Instruction& instruction) {
  Value* all = none_;
  for (Value* operand : instruction.operands()) all = join(builder, all, label_of(operand));
  return all;
}

Value* FunctionLabels::label_of(Value* value) {
  const auto found = labels_.find(value);
  return found == labels_.end() ? none_ : found->second;
}

Value* FunctionLabels::shadow_of(IRBuilder<>& builder, Value* pointer) {
  APInt offset(64, 0);
  Value* const base = pointer->stripAndAccumulateConstantOffsets(layout_, offset, /*AllowNonInbounds=*/true);
  const auto found = shadows_.find(dyn_cast<AllocaInst>(base));
  if (found == shadows_.end()) return nullptr;
  return builder.CreateConstInBoundsGEP1_64(builder.getInt32Ty(), found->second, offset.getZExtValue());
}

}  // namespace deadheat::replay
