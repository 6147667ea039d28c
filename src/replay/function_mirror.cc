#include "replay/function_mirror.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/raw_ostream.h>

#include "instrument/record/pieces.h"
#include "replay/abi.h"
#include "replay/function_labels.h"

namespace deadheat::replay {

using namespace llvm;
using instrument::record::from_words;
using instrument::record::is_leading;
using instrument::record::Piece;
using instrument::record::pieces_of;
using instrument::record::to_words;

namespace {

AttributeSet passing_attributes(LLVMContext& context, AttributeSet all) {
  AttrBuilder kept(context);
  for (Attribute::AttrKind kind : {Attribute::ZExt, Attribute::SExt, Attribute::InReg})
    if (all.hasAttribute(kind)) kept.addAttribute(kind);
  return AttributeSet::get(context, kept);
}

// The processor the function was compiled for, and the rules of its floating point.
AttributeSet function_attributes(LLVMContext& context, AttributeSet all) {
  AttrBuilder kept(context);
  kept.addAttribute(Attribute::NoUnwind);
  if (all.hasAttribute(Attribute::StrictFP)) kept.addAttribute(Attribute::StrictFP);
  for (const char* name :
       {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width", "prefer-vector-width",
        "denormal-fp-math", "denormal-fp-math-f32", "unsafe-fp-math", "no-infs-fp-math", "no-nans-fp-math",
        "no-signed-zeros-fp-math", "approx-func-fp-math"})
    if (all.hasAttribute(name)) kept.addAttribute(all.getAttribute(name));
  return AttributeSet::get(context, kept);
}

bool is_vtable_store(const Instruction& instruction) {
  const MDNode* const tag = instruction.getMetadata(LLVMContext::MD_tbaa);
  return tag != nullptr && tag->isTBAAVtableAccess() &&
         cast<StoreInst>(instruction).getValueOperand()->getType()->isPointerTy();
}

}  // namespace

AttributeList passing_attributes(LLVMContext& context, AttributeList all, std::size_t parameters) {
  SmallVector<AttributeSet, 8> kept;
  for (unsigned i = 0; i < parameters; ++i) kept.push_back(passing_attributes(context, all.getParamAttrs(i)));
  return AttributeList::get(context, AttributeSet(), passing_attributes(context, all.getRetAttrs()), kept);
}

FunctionMirror::FunctionMirror(const ModuleCode& code, std::size_t index, Variant variant,
                               Predictor predictor, Module& module)
    : code_(code),
      index_(index),
      plan_(code.function(index)),
      variant_(variant),
      predictor_(predictor),
      module_(module),
      context_(module.getContext()),
      hooks_(module) {}

Status FunctionMirror::run() {
  clone();
  make_copies();
  enter();
  if (variant_ == Variant::kCounted) count_instructions();
  if (variant_ == Variant::kLabelled) add_labels();
  if (tells_observers()) end_lives();
  for (const Point& point : plan_.points) mirror_point(point);
  mark_unreachable();
  if (Status status = replace_globals(); !status) return status;
  keep_copies();
  make_adapter();
  if (!problem_.empty()) return Error{problem_};
  return Nothing{};
}

void FunctionMirror::clone() {
  const Function& source = *plan_.function;
  function_ =
      Function::Create(source.getFunctionType(), GlobalValue::ExternalLinkage, code_symbol(index_), module_);
  function_->setCallingConv(source.getCallingConv());
  function_->setAttributes(
      passing_attributes(context_, source.getAttributes(), source.arg_size())
          .addFnAttributes(
              context_,
              AttrBuilder(context_, function_attributes(context_, source.getAttributes().getFnAttrs()))));
  for (unsigned i = 0; i < source.arg_size(); ++i) map_[source.getArg(i)] = function_->getArg(i);
  for (const BasicBlock& block : source) map_[&block] = BasicBlock::Create(context_, "", function_);
  for (const BasicBlock& block : source) {
    auto* const copy = cast<BasicBlock>(map_[&block]);
    for (const Instruction& instruction : block) {
      if (isa<DbgInfoIntrinsic>(instruction)) continue;
      Instruction* const twin = instruction.clone();
      twin->insertInto(copy, copy->end());
      twin->dropDbgRecords();
      twin->dropUnknownNonDebugMetadata();
      twin->setMetadata(LLVMContext::MD_DIAssignID, nullptr);
      twin->setDebugLoc({});
      map_[&instruction] = twin;
    }
  }
  for (Instruction& instruction : instructions(*function_))
    RemapInstruction(&instruction, map_, RF_NoModuleLevelChanges | RF_IgnoreMissingLocals);
}

void FunctionMirror::enter() {
  BasicBlock& entry = function_->getEntryBlock();
  BasicBlock::iterator at = entry.begin();
  while (isa<AllocaInst>(*at)) ++at;
  IRBuilder<> builder(&entry, at);
  thread_ = builder.CreateLoad(builder.getPtrTy(), external("__dh_replay"));
  copies_[0] = thread_;
  builder.CreateStore(builder.getInt64(0), copies_[3]);
  hooks_.call(builder, "__dh_rep_reload", copies_);
  Constant* const instance = external(kInstanceSymbol);
  if (!is_bare(variant_)) {
    auto* const base = builder.CreateLoad(builder.getInt64Ty(), instance);
    base->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(context_, {}));
    site_base_ = builder.CreateTrunc(base, builder.getInt32Ty());
    frame_ = hooks_.call(builder, "__dh_rep_enter", builder.getInt32Ty(),
                         {thread_, instance, builder.getInt64(index_)});
  } else {
    frame_ = builder.getInt32(0);
  }
  bool needs_depth = plan_.has_invokes;
  for (const Point& point : plan_.points) needs_depth |= point.kind == PointKind::kSetjmp;
  if (needs_depth)
    depth_ = builder.CreateLoad(builder.getInt32Ty(), field(builder, offsetof(DhReplay, depth)));
  for (const Point& point : plan_.points) {
    if (point.kind != PointKind::kByValue) continue;
    Value* const argument = map_[point.argument];
    // The address of the copy replaces what the caller passed; the log has it.
    const bool is_live = variant_ == Variant::kLive;
    Value* const passed = is_live || variant_ == Variant::kLabelled ? as_word(builder, argument) : nullptr;
    Value* const address =
        is_live ? by_value(builder, point, passed) : opaque(builder, point.site, argument->getType());
    argument->replaceUsesWithIf(address, [&](const Use& use) { return use.getUser() != passed; });
    by_value_[point.argument] = address;
    begin_life(builder, point, address);
    if (variant_ == Variant::kLabelled)
      hooks_.call(builder, "__dh_rep_copy_labels",
                  {thread_, as_word(builder, address), passed, size_of_local(builder, *point.argument)});
  }
  for (const Point& point : plan_.points) {
    if (point.kind != PointKind::kLocal || !is_leading(*cast<AllocaInst>(point.instruction))) continue;
    auto* const local = cast<Instruction>(map_[point.instruction]);
    Value* const address = opaque(builder, point.site, local->getType());
    begin_life(builder, point, address);
    local->replaceAllUsesWith(address);
    local->eraseFromParent();
  }
}

void FunctionMirror::add_labels() {
  DenseMap<const Instruction*, PointKind> points;
  DenseMap<const Instruction*, Value*> sites;
  for (const Point& point : plan_.points) {
    auto* const twin = point.instruction == nullptr
                           ? nullptr
                           : dyn_cast_or_null<Instruction>(static_cast<Value*>(map_[point.instruction]));
    // A local that was mirrored already is an address like others.
    if (twin == nullptr || (point.kind == PointKind::kLocal && !isa<AllocaInst>(twin))) continue;
    points[twin] = point.kind;
    if (isa<CallBase>(twin)) sites[twin] = site_value(point.site);
  }
  for (BasicBlock& block : *plan_.function) {
    const Instruction* const end = block.getTerminator();
    if (is_choice(*end)) sites[cast<Instruction>(map_[end])] = site_value(code_.site_of_end(*end));
  }
  FunctionLabels(*function_, *thread_, hooks_, std::move(points), std::move(sites))
      .run(*cast<Instruction>(thread_)->getNextNode());
}

void FunctionMirror::mirror_point(const Point& point) {
  Value* const mapped = point.instruction == nullptr ? nullptr : static_cast<Value*>(map_[point.instruction]);
  auto* const instruction = dyn_cast_or_null<Instruction>(mapped);
  switch (point.kind) {
    case PointKind::kByValue:
      return;
    case PointKind::kLocal:
      if (!is_leading(*cast<AllocaInst>(point.instruction))) {
        IRBuilder<> builder(instruction);
        Value* const address = variant_ == Variant::kLive
                                   ? dynamic_local(builder, point, *cast<AllocaInst>(instruction))
                                   : opaque(builder, point.site, instruction->getType());
        begin_life(builder, point, address);
        instruction->replaceAllUsesWith(address);
        instruction->eraseFromParent();
      }
      return;
    case PointKind::kLoad:
      return mirror_load(*cast<LoadInst>(instruction), site_value(point.site));
    case PointKind::kStore:
      return mirror_store(*cast<StoreInst>(instruction), site_value(point.site),
                          is_vtable_store(*point.instruction));
    case PointKind::kCopy:
    case PointKind::kFill:
      return mirror_memory(*cast<MemIntrinsic>(instruction), site_value(point.site));
    case PointKind::kAtomic:
      return mirror_atomic(*instruction, site_value(point.site));
    case PointKind::kCall:
    case PointKind::kVisibleCall:
      return mirror_call(point);
    case PointKind::kOpaque:
      return mirror_opaque(point);
    case PointKind::kSetjmp:
      return mirror_setjmp(point);
    case PointKind::kLandingPad:
      return mirror_landing(point);
    case PointKind::kResume:
      return mirror_resume(point);
    case PointKind::kDropped:
      if (!instruction->getType()->isVoidTy())
        instruction->replaceAllUsesWith(PoisonValue::get(instruction->getType()));
      instruction->eraseFromParent();
      return;
  }
}

void FunctionMirror::mirror_opaque(const Point& point) {
  auto* const instruction = cast<Instruction>(map_[point.instruction]);
  if (instruction->getType()->isTokenTy()) return;
  if (auto* invoke = dyn_cast<InvokeInst>(instruction)) {
    // Inline assembly that may throw; nothing here ever does.
    invoke->getUnwindDest()->removePredecessor(invoke->getParent());
    BranchInst::Create(invoke->getNormalDest(), invoke->getIterator());
  }
  IRBuilder<> builder(isa<InvokeInst>(instruction) ? instruction->getPrevNode() : instruction);
  if (variant_ == Variant::kLive) show_operands(builder, *instruction, point);
  if (!instruction->getType()->isVoidTy())
    instruction->replaceAllUsesWith(opaque(builder, point.site, instruction->getType()));
  instruction->eraseFromParent();
}

// Block by block: who leaves a block in the middle has executed all of it.
void FunctionMirror::count_instructions() {
  for (const BasicBlock& block : *plan_.function) {
    const auto count = static_cast<std::uint64_t>(count_if(block, [](const Instruction& instruction) {
      return !isa<PHINode>(instruction) && !isa<DbgInfoIntrinsic>(instruction) &&
             !instruction.isLifetimeStartOrEnd();
    }));
    auto* const copy = cast<BasicBlock>(map_[&block]);
    IRBuilder<> builder(copy, &block == &plan_.function->getEntryBlock()
                                  ? cast<Instruction>(thread_)->getNextNode()->getIterator()
                                  : copy->getFirstNonPHIIt());
    Value* const counter = field(builder, offsetof(DhReplay, instructions));
    builder.CreateStore(
        builder.CreateAdd(builder.CreateLoad(builder.getInt64Ty(), counter), builder.getInt64(count)),
        counter);
  }
}

void FunctionMirror::mark_unreachable() {
  for (BasicBlock& block : *function_) {
    auto* const end = dyn_cast<UnreachableInst>(block.getTerminator());
    if (end == nullptr) continue;
    IRBuilder<> builder(end);
    hooks_.call(builder, "__dh_rep_unreachable", {thread_, builder.getInt32(0)});
  }
}

namespace {

// Those of a call-back have one label, all of them.
void label_arguments(IRBuilder<>& builder, std::size_t count) {
  Module& module = *builder.GetInsertBlock()->getModule();
  Value* const thread = builder.CreateLoad(builder.getPtrTy(), module.getNamedGlobal("__dh_replay"));
  const auto field = [&](std::size_t offset) {
    return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), thread,
                                              offsetof(DhReplay, labels) + offset);
  };
  Value* const label = builder.CreateLoad(builder.getInt32Ty(), field(offsetof(DhLabels, callback)));
  for (std::size_t i = 0; i < std::min<std::size_t>(count, kDhMaxLabels); ++i)
    builder.CreateStore(label, field(offsetof(DhLabels, arguments) + 4 * i));
}

}  // namespace

void FunctionMirror::make_adapter() {
  IRBuilder<> builder(context_);
  Function* const adapter =
      Function::Create(FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false),
                       GlobalValue::ExternalLinkage, adapter_symbol(index_), module_);
  // Arguments may be vectors of the function's own processor.
  adapter->setAttributes(AttributeList().addFnAttributes(
      context_, AttrBuilder(context_, function_->getAttributes().getFnAttrs())));
  builder.SetInsertPoint(BasicBlock::Create(context_, "", adapter));
  SmallVector<Value*, 8> arguments;
  uint64_t next = 0;
  for (Argument& argument : function_->args()) {
    SmallVector<Value*, 4> words;
    const std::size_t count = pieces_of(argument.getType(), module_.getDataLayout()).size();
    for (std::size_t i = 0; i < count; ++i)
      words.push_back(
          builder.CreateLoad(builder.getInt64Ty(),
                             builder.CreateConstGEP1_64(builder.getInt64Ty(), adapter->getArg(0), next++)));
    arguments.push_back(from_words(builder, argument.getType(), words));
  }
  if (variant_ == Variant::kLabelled) label_arguments(builder, function_->arg_size());
  CallInst* const call = builder.CreateCall(function_->getFunctionType(), function_, arguments);
  call->setCallingConv(function_->getCallingConv());
  call->setAttributes(passing_attributes(context_, function_->getAttributes(), function_->arg_size()));
  if (variant_ == Variant::kLive && !call->getType()->isVoidTy()) {
    Value* const thread = builder.CreateLoad(builder.getPtrTy(), external("__dh_replay"));
    const SmallVector<Value*, 4> words = to_words(builder, call);
    for (std::size_t i = 0; i < words.size() && i < kDhMaxResults; ++i)
      builder.CreateStore(words[i], builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), thread,
                                                                       offsetof(DhReplay, results) + 8 * i));
  }
  builder.CreateRetVoid();
}

// --- Small things

Value* FunctionMirror::field(IRBuilder<>& builder, std::size_t offset) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), thread_, offset);
}

Value* FunctionMirror::site_value(uint32_t site) {
  IRBuilder<> builder(context_);
  if (is_bare(variant_)) return builder.getInt32(site);
  auto* const base = cast<Instruction>(site_base_);
  builder.SetInsertPoint(base->getNextNode());
  return builder.CreateAdd(site_base_, builder.getInt32(site));
}

Value* FunctionMirror::opaque(IRBuilder<>& builder, uint32_t site, Type* type, Value* key) {
  SmallVector<Value*, 4> words;
  const std::size_t count = pieces_of(type, module_.getDataLayout()).size();
  for (std::size_t i = 0; i < count; ++i) {
    Value* const where = instrument::record::place_of_result(
        builder, code_.first_pseudo_address() + (site + i) * uint64_t{8}, key);
    words.push_back(variant_ == Variant::kLive
                        ? hooks_.call(builder, "__dh_rep_live_opaque", builder.getInt64Ty(),
                                      {thread_, where, site_value(site + static_cast<std::uint32_t>(i))})
                        : value_hook(builder, "__dh_rep_opaque", {where}, builder.getInt64Ty()));
  }
  return from_words(builder, type, words);
}

Value* FunctionMirror::as_word(IRBuilder<>& builder, Value* pointer) {
  return builder.CreatePtrToInt(pointer, builder.getInt64Ty());
}

Constant* FunctionMirror::external(const char* name) {
  if (GlobalVariable* const known = module_.getNamedGlobal(name)) return known;
  return new GlobalVariable(module_, Type::getInt64Ty(context_), /*isConstant=*/false,
                            GlobalValue::ExternalLinkage, nullptr, name);
}

// --- mirror.h

std::string code_symbol(std::size_t function) { return "dh_f" + std::to_string(function); }
std::string adapter_symbol(std::size_t function) { return "dh_a" + std::to_string(function); }

Status mirror(const ModuleCode& code, std::size_t index, Variant variant, Predictor predictor,
              Module& module) {
  module.setTargetTriple(code.module().getTargetTriple());
  module.setDataLayout(code.module().getDataLayout());
  return FunctionMirror(code, index, variant, predictor, module).run();
}

}  // namespace deadheat::replay
