#include "instrument/record/function_recorder.h"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "instrument/record/pieces.h"
#include "instrument/sanitizer_marks.h"
#include "runtime/record_abi.h"

namespace deadheat::instrument::record {

using namespace llvm;

namespace {

// As in C: relaxed 0, acquire 2, release 3, acq_rel 4, seq_cst 5.
uint32_t c_order(AtomicOrdering order) {
  return order == AtomicOrdering::Unordered ? 0 : static_cast<uint32_t>(toCABI(order));
}

constexpr StringRef kReload = "__dh_rec_reload";
// Hooks that change neither run nor hash, nor run anything of the program's.
constexpr StringRef kLightHooks[] = {"__dh_rec_is_visible",  "__dh_rec_call_begin", "__dh_rec_is_off",
                                     "__dh_rec_is_callback", "__dh_rec_depth",      "__dh_rec_set_depth"};

// The first instruction behind the leading allocas.
Instruction* behind_allocas(Function& function) {
  BasicBlock::iterator at = function.getEntryBlock().begin();
  while (isa<AllocaInst>(*at)) ++at;
  return &*at;
}

}  // namespace

void FunctionRecorder::run(const FunctionPlan& plan) {
  Function& function = *plan.function;
  Instruction* const body = behind_allocas(function);
  depth_ = nullptr;
  bool needs_depth = plan.has_invokes;
  for (const Point& point : plan.points) needs_depth |= point.kind == PointKind::kSetjmp;
  make_copies(function);
  IRBuilder<> builder(body);
  hooks_.call(builder, kReload, copies_);
  if (needs_depth) depth_ = hooks_.call(builder, "__dh_rec_depth", builder.getInt32Ty(), {});
  for (const Point& point : plan.points)
    if (point.kind == PointKind::kByValue) opaque(builder, point.site, point.argument);
  for (const Point& point : plan.points)
    if (point.kind == PointKind::kLocal && is_leading(*cast<AllocaInst>(point.instruction)))
      opaque(builder, point.site, point.instruction);
  for (const Point& point : plan.points) record(point);
  reload_behind_calls(function);
}

void FunctionRecorder::make_copies(Function& function) {
  IRBuilder<> builder(&*function.getEntryBlock().begin());
  Type* const word = builder.getInt64Ty();
  copies_.clear();
  for (Type* type : std::initializer_list<Type*>{builder.getPtrTy(), word, word}) {
    copies_.push_back(builder.CreateAlloca(type));
    all_copies_.emplace_back(copies_.back());
  }
}

void FunctionRecorder::reload_behind_calls(Function& function) {
  const auto changes_nothing = [&](const CallBase& call) {
    const Function* const callee = call.getCalledFunction();
    if (callee == nullptr) return call.isInlineAsm();
    if (callee->isIntrinsic()) return true;
    // Value hooks keep the copies up to date; the other light ones touch nothing that is copied.
    return is_contained(call.args(), copies_[0]) || is_contained(kLightHooks, callee->getName());
  };
  SmallVector<CallBase*, 32> calls;
  for (BasicBlock& block : function)
    for (Instruction& instruction : block)
      if (auto* const call = dyn_cast<CallBase>(&instruction); call && !changes_nothing(*call))
        calls.push_back(call);
  for (CallBase* call : calls) {
    if (call->doesNotReturn() || call->isMustTailCall()) continue;
    IRBuilder<> builder(behind(*call));
    builder.SetCurrentDebugLocation(call->getDebugLoc());
    hooks_.call(builder, kReload, copies_);
  }
}

void FunctionRecorder::promote_copies() {
  DenseMap<Function*, SmallVector<AllocaInst*, 3>> by_function;
  for (const WeakTrackingVH& copy : all_copies_)
    if (auto* const variable = dyn_cast_or_null<AllocaInst>(copy); variable && isAllocaPromotable(variable))
      by_function[variable->getFunction()].push_back(variable);
  for (auto& [function, variables] : by_function) {
    DominatorTree tree(*function);
    PromoteMemToReg(variables, tree);
  }
}

Value* FunctionRecorder::value_hook(IRBuilder<>& builder, const Twine& name, ArrayRef<Value*> arguments,
                                    Type* result) {
  SmallVector<Value*, 6> all(arguments);
  all.append(copies_);
  return hooks_.call(builder, name.str(), result == nullptr ? builder.getVoidTy() : result, all);
}

void FunctionRecorder::record(const Point& point) {
  switch (point.kind) {
    case PointKind::kLoad:
      return record_load(*cast<LoadInst>(point.instruction));
    case PointKind::kStore:
      return record_store(*cast<StoreInst>(point.instruction));
    case PointKind::kCopy:
    case PointKind::kFill:
      return record_memory(*cast<MemIntrinsic>(point.instruction));
    case PointKind::kLocal:
      if (!is_leading(*cast<AllocaInst>(point.instruction))) {
        IRBuilder<> builder(point.instruction->getNextNode());
        opaque(builder, point.site, point.instruction);
      }
      return;
    case PointKind::kAtomic:
      return record_atomic(*point.instruction);
    case PointKind::kCall:
      return record_call(point, /*may_be_invisible=*/true);
    case PointKind::kVisibleCall:
      return record_call(point, /*may_be_invisible=*/false);
    case PointKind::kOpaque: {
      if (point.instruction->getType()->isVoidTy() || point.instruction->getType()->isTokenTy()) return;
      IRBuilder<> builder(behind(*point.instruction));
      return opaque(builder, point.site, point.instruction);
    }
    case PointKind::kSetjmp:
      return record_setjmp(point);
    case PointKind::kLandingPad:
      return record_landing(point);
    case PointKind::kByValue:
    case PointKind::kResume:
    case PointKind::kDropped:
      return;
  }
}

void FunctionRecorder::opaque(IRBuilder<>& builder, uint32_t site, Value* value, Value* key) {
  for (Value* word : to_words(builder, value)) {
    value_hook(builder, "__dh_rec_opaque",
               {place_of_result(builder, first_site_ + site * uint64_t{8}, key), word});
    ++site;
  }
}

namespace {
// How many pieces from `first` on, 8 bytes each, one hook can take.
size_t words_at_once(ArrayRef<Piece> pieces, size_t first) {
  size_t whole = 0;
  while (first + whole < pieces.size() && pieces[first + whole].size == 8) ++whole;
  return whole >= 4 ? 4 : whole >= 2 ? 2 : 1;
}
}  // namespace

void FunctionRecorder::access(IRBuilder<>& builder, const char* kind, Value* pointer, Align align,
                              Value* value) {
  const SmallVector<Piece, 4> pieces = pieces_of(value->getType(), module_.getDataLayout());
  const SmallVector<Value*, 4> words = to_words(builder, value);
  // Of a vector, two words at a time stay where they are.
  Value* const pairs = as_word_vector(builder, value);
  const auto pair = [&](size_t first) {
    const int indices[] = {static_cast<int>(first), static_cast<int>(first + 1)};
    return builder.CreateShuffleVector(pairs, indices);
  };
  for (size_t i = 0, count = 1; i < pieces.size(); i += count) {
    const auto [offset, size] = pieces[i];
    Value* const address =
        offset == 0 ? pointer : builder.CreateConstGEP1_64(builder.getInt8Ty(), pointer, offset);
    const std::string name = std::string("__dh_rec_") + kind;
    count = 1;
    if (!isPowerOf2_32(size)) {
      hooks_.call(builder, name + "_any", {address, words[i], builder.getInt32(size)});
      continue;
    }
    if (pairs != nullptr) count = words_at_once(pieces, i);
    if (count == 1) {
      value_hook(builder, name + std::to_string(size), {address, words[i]});
      continue;
    }
    SmallVector<Value*, 3> arguments = {address};
    for (size_t word = i; word < i + count; word += 2) arguments.push_back(pair(word));
    const bool is_aligned = commonAlignment(align, offset).value() >= 16;
    value_hook(builder, name + (is_aligned ? "" : "_any") + std::to_string(size * count), arguments);
  }
}

void FunctionRecorder::record_load(LoadInst& load) {
  // One read, whatever code is made of it: that the hook and the program look at different parts of a vector
  // is to the code generator a reason to read it twice, and another thread may write in between.
  load.setVolatile(true);
  IRBuilder<> builder(load.getNextNode());
  builder.SetCurrentDebugLocation(load.getDebugLoc());
  access(builder, "load", load.getPointerOperand(), load.getAlign(), &load);
}

void FunctionRecorder::record_store(StoreInst& store) {
  IRBuilder<> builder(&store);
  access(builder, "store", store.getPointerOperand(), store.getAlign(), store.getValueOperand());
}

void FunctionRecorder::record_memory(MemIntrinsic& intrinsic) {
  IRBuilder<> builder(&intrinsic);
  Value* const size = builder.CreateZExtOrTrunc(intrinsic.getLength(), builder.getInt64Ty());
  if (auto* copy = dyn_cast<MemTransferInst>(&intrinsic)) {
    const char* const name = isa<MemMoveInst>(copy) ? "__dh_rec_memmove" : "__dh_rec_memcpy";
    hooks_.call(builder, name, {copy->getRawDest(), copy->getRawSource(), size});
  } else {
    auto* const fill = cast<MemSetInst>(&intrinsic);
    Value* const byte = builder.CreateZExt(fill->getValue(), builder.getInt32Ty());
    hooks_.call(builder, "__dh_rec_memset", {fill->getRawDest(), byte, size});
  }
  intrinsic.eraseFromParent();
}

Value* FunctionRecorder::wide_atomic(IRBuilder<>& builder, Value* address, Value* expected, Value* desired,
                                     unsigned operation, AtomicOrdering order, Type* type) {
  Function& function = *builder.GetInsertBlock()->getParent();
  IRBuilder<> entry(&*function.getEntryBlock().begin());
  Type* const words = ArrayType::get(builder.getInt64Ty(), 2);
  const auto buffer = [&](Value* value) -> Value* {
    Value* const memory = entry.CreateAlloca(words);
    if (value != nullptr) {
      const SmallVector<Value*, 4> pieces = to_words(builder, value);
      for (unsigned i = 0; i < 2; ++i)
        builder.CreateStore(pieces[i], builder.CreateConstGEP1_64(builder.getInt64Ty(), memory, i));
    }
    return memory;
  };
  Value* const before = buffer(nullptr);
  hooks_.call(builder, "__dh_rec_atomic16",
              {address, buffer(expected), buffer(desired), before, builder.getInt32(operation),
               builder.getInt32(c_order(order))});
  Value* const low = builder.CreateLoad(builder.getInt64Ty(), before);
  Value* const high =
      builder.CreateLoad(builder.getInt64Ty(), builder.CreateConstGEP1_64(builder.getInt64Ty(), before, 1));
  return from_words(builder, type, {low, high});
}

void FunctionRecorder::record_atomic(Instruction& instruction) {
  IRBuilder<> builder(&instruction);
  const DataLayout& layout = module_.getDataLayout();
  const auto word = [&](Value* value) { return to_words(builder, value)[0]; };
  const auto size_of = [&](Type* type) { return static_cast<uint32_t>(layout.getTypeStoreSize(type)); };
  const auto atomic = [&](Value* address, Value* operand, uint32_t operation, Type* type,
                          AtomicOrdering order) {
    if (size_of(type) > 8) return wide_atomic(builder, address, nullptr, operand, operation, order, type);
    Value* const before = hooks_.call(
        builder, "__dh_rec_atomic", builder.getInt64Ty(),
        {address, operand == nullptr ? builder.getInt64(0) : word(operand), builder.getInt32(operation),
         builder.getInt32(size_of(type)), builder.getInt32(c_order(order))});
    return operation == kDhAtomicStore ? before : from_words(builder, type, {before});
  };
  if (auto* load = dyn_cast<LoadInst>(&instruction)) {
    const uint32_t size = size_of(load->getType());
    if (size <= 8 && c_order(load->getOrdering()) == 0) {
      Value* const word = value_hook(builder, "__dh_rec_relaxed_load" + std::to_string(size),
                                     {load->getPointerOperand()}, builder.getInt64Ty());
      instruction.replaceAllUsesWith(from_words(builder, load->getType(), {word}));
    } else {
      instruction.replaceAllUsesWith(
          atomic(load->getPointerOperand(), nullptr, kDhAtomicLoad, load->getType(), load->getOrdering()));
    }
  } else if (auto* store = dyn_cast<StoreInst>(&instruction)) {
    atomic(store->getPointerOperand(), store->getValueOperand(), kDhAtomicStore,
           store->getValueOperand()->getType(), store->getOrdering());
  } else if (auto* change = dyn_cast<AtomicRMWInst>(&instruction)) {
    instruction.replaceAllUsesWith(atomic(change->getPointerOperand(), change->getValOperand(),
                                          operation_of(*change), change->getType(), change->getOrdering()));
  } else if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
    Type* const type = exchange->getCompareOperand()->getType();
    Value* before = nullptr;
    if (size_of(type) > 8) {
      before = wide_atomic(builder, exchange->getPointerOperand(), exchange->getCompareOperand(),
                           exchange->getNewValOperand(), kDhAtomicCompareExchange,
                           exchange->getSuccessOrdering(), type);
    } else {
      before = from_words(builder, type,
                          {hooks_.call(builder, "__dh_rec_compare_exchange", builder.getInt64Ty(),
                                       {exchange->getPointerOperand(), word(exchange->getCompareOperand()),
                                        word(exchange->getNewValOperand()), builder.getInt32(size_of(type)),
                                        builder.getInt32(c_order(exchange->getSuccessOrdering())),
                                        builder.getInt32(c_order(exchange->getFailureOrdering()))})});
    }
    Value* pair = builder.CreateInsertValue(PoisonValue::get(exchange->getType()), before, 0);
    pair = builder.CreateInsertValue(pair, builder.CreateICmpEQ(before, exchange->getCompareOperand()), 1);
    instruction.replaceAllUsesWith(pair);
  } else {
    hooks_.call(builder, "__dh_rec_fence",
                {builder.getInt32(c_order(cast<FenceInst>(instruction).getOrdering()))});
  }
  instruction.eraseFromParent();
}

Instruction* FunctionRecorder::behind(Instruction& instruction) {
  auto* const invoke = dyn_cast<InvokeInst>(&instruction);
  if (invoke == nullptr) return instruction.getNextNode();
  // The normal destination may be reached from elsewhere, and by this invoke once only.
  BasicBlock* const target = invoke->getNormalDest();
  BasicBlock* const between = BasicBlock::Create(module_.getContext(), "", invoke->getFunction(), target);
  Instruction* const jump = BranchInst::Create(target, between);
  jump->setDebugLoc(invoke->getDebugLoc());
  invoke->setNormalDest(between);
  target->replacePhiUsesWith(invoke->getParent(), between);
  return jump;
}

Value* FunctionRecorder::cache_of(const CallBase& call) {
  // All calls of one function share a word; every indirect call has its own.
  const Value* const key = isa<Constant>(call.getCalledOperand()) ? call.getCalledOperand() : &call;
  GlobalVariable*& cache = caches_[key];
  if (cache == nullptr) {
    cache = new GlobalVariable(module_, Type::getInt64Ty(module_.getContext()), /*isConstant=*/false,
                               GlobalValue::PrivateLinkage,
                               ConstantInt::get(Type::getInt64Ty(module_.getContext()), 0), "dh.target");
  }
  return cache;
}

void FunctionRecorder::record_call(const Point& point, bool may_be_invisible) {
  auto& call = *cast<CallBase>(point.instruction);
  const bool is_invoke = isa<InvokeInst>(call);
  if (!may_be_invisible && !is_invoke) return;
  IRBuilder<> builder(&call);
  // A signal's handler may run at any moment between call_begin and call_end, and where the result is
  // logged, which is the same place in the log. So the depth is the call's all the time; and what a handler
  // counted is in the copies, which are read again behind call_end.
  const auto set_depth = [&](Value* depth) {
    if (is_invoke) hooks_.call(builder, "__dh_rec_set_depth", {depth});
  };
  if (is_invoke) set_depth(builder.CreateAdd(depth_, builder.getInt32(1)));
  Value *target_is = nullptr, *is_visible = nullptr;
  if (may_be_invisible) {
    target_is = builder.getInt32(0);
    if (!is_chosen_late(call))
      target_is = hooks_.call(builder, "__dh_rec_is_visible", builder.getInt32Ty(),
                              {call.getCalledOperand(), cache_of(call)});
    is_visible = builder.CreateAnd(target_is, builder.getInt32(kDhTargetVisible));
    hooks_.call(builder, "__dh_rec_call_begin", {is_visible});
  }
  Instruction* const next = behind(call);
  builder.SetInsertPoint(next);
  builder.SetCurrentDebugLocation(call.getDebugLoc());
  if (!may_be_invisible || isa<UnreachableInst>(next)) return set_depth(depth_);
  if (may_return_nothing(call)) {
    Value* const has_none = builder.CreateICmpUGT(target_is, builder.getInt32(kDhTargetVisible));
    Value* const result = builder.CreateSelect(has_none, Constant::getNullValue(call.getType()), &call);
    call.replaceUsesWithIf(result, [&](const Use& use) { return use.getUser() != result; });
  }
  Value* const is_opaque = builder.CreateICmpEQ(is_visible, builder.getInt32(0));
  Instruction *end = nullptr, *end_of_visible = nullptr;
  SplitBlockAndInsertIfThenElse(is_opaque, next->getIterator(), &end, &end_of_visible);
  builder.SetInsertPoint(end_of_visible);
  set_depth(depth_);
  builder.SetInsertPoint(end);
  hooks_.call(builder, "__dh_rec_call_end", {});
  if (pieces_of(call.getType(), module_.getDataLayout()).empty())
    value_hook(builder, "__dh_rec_nothing", {});
  else
    opaque(builder, point.site, &call, plan_.key_of(call));
  set_depth(depth_);
}

void FunctionRecorder::record_setjmp(const Point& point) {
  auto& call = *cast<CallBase>(point.instruction);
  IRBuilder<> builder(&call);
  if (isa<InvokeInst>(call))
    hooks_.call(builder, "__dh_rec_set_depth", {builder.CreateAdd(depth_, builder.getInt32(1))});
  builder.SetInsertPoint(behind(call));
  hooks_.call(builder, "__dh_rec_setjmp", {call.getArgOperand(0), &call, depth_});
  opaque(builder, point.site, &call);
}

void FunctionRecorder::record_landing(const Point& point) {
  IRBuilder<> builder(point.instruction->getNextNode());
  hooks_.call(builder, "__dh_rec_landed", {depth_});
  opaque(builder, point.site, point.instruction);
}

namespace {

// The words of a function's arguments, in an array on its stack.
std::pair<Value*, uint32_t> argument_words(IRBuilder<>& builder, Function& within) {
  SmallVector<Value*, 8> words;
  for (Argument& argument : within.args()) words.append(to_words(builder, &argument));
  Value* const array = builder.CreateAlloca(ArrayType::get(builder.getInt64Ty(), words.size()));
  for (size_t i = 0; i < words.size(); ++i)
    builder.CreateStore(words[i], builder.CreateConstGEP1_64(builder.getInt64Ty(), array, i));
  return {array, static_cast<uint32_t>(words.size())};
}

CallBase* forward(IRBuilder<>& builder, Function& callee, Function& within, BasicBlock* normal,
                  BasicBlock* unwind) {
  SmallVector<Value*, 8> arguments;
  for (Argument& argument : within.args()) arguments.push_back(&argument);
  CallBase* call = nullptr;
  if (normal == nullptr)
    call = builder.CreateCall(callee.getFunctionType(), &callee, arguments);
  else
    call = builder.CreateInvoke(callee.getFunctionType(), &callee, normal, unwind, arguments);
  call->setCallingConv(callee.getCallingConv());
  AttributeList attributes;
  for (unsigned i = 0; i < callee.arg_size(); ++i)
    attributes = attributes.addParamAttributes(
        callee.getContext(), i, AttrBuilder(callee.getContext(), callee.getAttributes().getParamAttrs(i)));
  attributes = attributes.addRetAttributes(
      callee.getContext(), AttrBuilder(callee.getContext(), callee.getAttributes().getRetAttrs()));
  call->setAttributes(attributes);
  return call;
}

void return_result(IRBuilder<>& builder, CallBase* call) {
  if (call->getType()->isVoidTy())
    builder.CreateRetVoid();
  else
    builder.CreateRet(call);
}

// A variable number of arguments cannot be handed on: such a function logs its call-backs itself, and does
// not notice an exception that leaves it for invisible code.
void add_inline_check(Hooks& hooks, Function& function, Constant* address) {
  Instruction* const body = behind_allocas(function);
  IRBuilder<> builder(body);
  Value* const flag = hooks.call(builder, "__dh_rec_is_callback", builder.getInt32Ty(), {});
  Value* const is_callback = builder.CreateICmpNE(flag, builder.getInt32(0));
  builder.SetInsertPoint(SplitBlockAndInsertIfThen(is_callback, body->getIterator(), false));
  const auto [words, count] = argument_words(builder, function);
  hooks.call(builder, "__dh_rec_callback_begin", {address, words, builder.getInt32(count)});
  SmallVector<ReturnInst*, 4> ends;  // first: a split makes new blocks that return
  for (BasicBlock& block : function)
    if (auto* const end = dyn_cast<ReturnInst>(block.getTerminator())) ends.push_back(end);
  for (ReturnInst* end : ends) {
    builder.SetInsertPoint(SplitBlockAndInsertIfThen(is_callback, end->getIterator(), false));
    hooks.call(builder, "__dh_rec_callback_end", {});
  }
}

Function* make_thunk(Hooks& hooks, Function& function, Constant* address) {
  Module& module = *function.getParent();
  LLVMContext& context = module.getContext();
  Function* const thunk = Function::Create(function.getFunctionType(), GlobalValue::InternalLinkage,
                                           function.getName() + ".dh.callback", &module);
  thunk->copyAttributesFrom(&function);
  thunk->setLinkage(GlobalValue::InternalLinkage);
  thunk->setVisibility(GlobalValue::DefaultVisibility);
  thunk->setDLLStorageClass(GlobalValue::DefaultStorageClass);
  thunk->setComdat(function.getComdat());
  thunk->setSection("");
  thunk->addFnAttr(Attribute::NoInline);
  thunk->addFnAttr(Attribute::Cold);
  thunk->removeFnAttr(Attribute::AlwaysInline);
  mark_instrumented(*thunk);
  IRBuilder<> builder(BasicBlock::Create(context, "", thunk));
  const auto [words, count] = argument_words(builder, *thunk);
  hooks.call(builder, "__dh_rec_callback_begin", {address, words, builder.getInt32(count)});
  if (function.doesNotThrow()) {
    CallBase* const call = forward(builder, function, *thunk, nullptr, nullptr);
    hooks.call(builder, "__dh_rec_callback_end", {});
    return_result(builder, call);
    return thunk;
  }
  if (!thunk->hasPersonalityFn())
    thunk->setPersonalityFn(cast<Constant>(
        module.getOrInsertFunction("__gcc_personality_v0", FunctionType::get(builder.getInt32Ty(), true))
            .getCallee()));
  BasicBlock* const normal = BasicBlock::Create(context, "", thunk);
  BasicBlock* const unwind = BasicBlock::Create(context, "", thunk);
  CallBase* const call = forward(builder, function, *thunk, normal, unwind);
  builder.SetInsertPoint(normal);
  hooks.call(builder, "__dh_rec_callback_end", {});
  return_result(builder, call);
  builder.SetInsertPoint(unwind);
  LandingPadInst* const pad =
      builder.CreateLandingPad(StructType::get(builder.getPtrTy(), builder.getInt32Ty()), 0);
  pad->setCleanup(true);
  hooks.call(builder, "__dh_rec_callback_unwound", {});
  builder.CreateResume(pad);
  return thunk;
}

}  // namespace

void add_callback_check(Hooks& hooks, Function& function, Constant* address) {
  if (function.isVarArg()) return add_inline_check(hooks, function, address);
  Function* const thunk = make_thunk(hooks, function, address);
  Instruction* const body = behind_allocas(function);
  IRBuilder<> builder(body);
  if (DISubprogram* const place = function.getSubprogram())
    builder.SetCurrentDebugLocation(DILocation::get(function.getContext(), place->getLine(), 0, place));
  Value* const flag = hooks.call(builder, "__dh_rec_is_callback", builder.getInt32Ty(), {});
  Value* const is_callback = builder.CreateICmpNE(flag, builder.getInt32(0));
  Instruction* const end = SplitBlockAndInsertIfThen(is_callback, body->getIterator(), /*Unreachable=*/true);
  builder.SetInsertPoint(end);
  return_result(builder, forward(builder, *thunk, function, nullptr, nullptr));
  end->eraseFromParent();
}

Function* plain_copy(Function& function) {
  ValueToValueMapTy values;
  Function* const copy = CloneFunction(&function, values);
  copy->setName(function.getName() + ".dh.plain");
  copy->setLinkage(GlobalValue::InternalLinkage);
  copy->setVisibility(GlobalValue::DefaultVisibility);
  copy->setComdat(function.getComdat());
  copy->removeFnAttr(Attribute::AlwaysInline);
  mark_instrumented(*copy);
  return copy;
}

bool may_hand_over(const Function& function) {
  return !function.isVarArg() ||
         !function.getFnAttribute("target-features").getValueAsString().contains("+avx");
}

void add_off_switch(Hooks& hooks, Function& function, Function& plain) {
  Instruction* const body = behind_allocas(function);
  IRBuilder<> builder(body);
  if (DISubprogram* const place = function.getSubprogram())
    builder.SetCurrentDebugLocation(DILocation::get(function.getContext(), place->getLine(), 0, place));
  Value* const flag = hooks.call(builder, "__dh_rec_is_off", builder.getInt32Ty(), {});
  Value* const is_off = builder.CreateICmpNE(flag, builder.getInt32(0));
  MDNode* const unlikely = MDBuilder(function.getContext()).createBranchWeights(1, 1 << 20);
  Instruction* const end =
      SplitBlockAndInsertIfThen(is_off, body->getIterator(), /*Unreachable=*/true, unlikely);
  builder.SetInsertPoint(end);
  // A jump, so that nothing of this frame is left on the stack, and variable arguments are handed on.
  auto* const call = cast<CallInst>(forward(builder, plain, function, nullptr, nullptr));
  call->setTailCallKind(CallInst::TCK_MustTail);
  return_result(builder, call);
  end->eraseFromParent();
}

}  // namespace deadheat::instrument::record
