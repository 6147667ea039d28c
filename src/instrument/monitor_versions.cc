#include "instrument/monitor_versions.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "instrument/hooks.h"

namespace deadheat::instrument {

using namespace llvm;

namespace {

// Beyond this, twice the code is worse than the looks.
constexpr unsigned kMaxInstructions = 6000;
// Loops that go round no more often than this are not worth a look each time.
constexpr unsigned kFewRounds = 16;
constexpr unsigned kMaxOpeners = 64;

bool calls_something(const Loop& loop) {
  for (const BasicBlock* block : loop.blocks())
    for (const Instruction& instruction : *block)
      if (instruction.isAtomic() || (isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction)))
        return true;
  return false;
}

Value* is_open(IRBuilderBase& builder, GlobalVariable& gate) {
  Value* const value = builder.CreateLoad(builder.getInt64Ty(), &gate, "dh.gate");
  return builder.CreateICmpNE(value, builder.getInt64(0), "dh.open");
}

// Loops inside loops inside this one.
bool is_deep(const Loop& loop) {
  return any_of(loop, [](const Loop* inner) { return !inner->isInnermost(); });
}

bool makes_threads(const CallInst& call) {
  const Function* const callee = call.getCalledFunction();
  if (!callee) return false;
  const StringRef name = callee->getName();
  return name == "pthread_create" || name == "thrd_create" ||
         name.starts_with("_ZNSt6thread15_M_start_thread");
}

// It comes by its beginning often. With `loop`: from there.
bool calls_itself(const Function& function, const Loop* loop = nullptr) {
  return any_of(function.users(), [&](const User* user) {
    const auto* call = dyn_cast<CallBase>(user);
    return call && call->getFunction() == &function && call->getCalledOperand() == &function &&
           (!loop || loop->contains(call));
  });
}

}  // namespace

FunctionVersions::FunctionVersions(Function& function, const InterferenceFreeRegions& regions,
                                   ArrayRef<const Instruction*> looks, LoopInfo& loops,
                                   ScalarEvolution& evolution, DominatorTree& dominators)
    : function_(function),
      loops_(loops),
      dominators_(dominators),
      looks_(static_cast<unsigned>(looks.size())) {
  for (const Loop* loop : loops.getLoopsInPreorder()) {
    if (!is_change(*loop, regions, looks, evolution)) continue;
    Head head{loop->getHeader(), {}};
    SmallVector<BasicBlock*, 2> latches;
    loop->getLoopLatches(latches);
    for (BasicBlock* latch : latches) head.latches.push_back(latch->getTerminator());
    heads_.push_back(std::move(head));
  }
  find_openers(looks, loops);
}

void FunctionVersions::find_openers(ArrayRef<const Instruction*> looks, const LoopInfo& loops) {
  if (looks.empty()) return;
  for (Instruction& instruction : instructions(function_)) {
    auto* call = dyn_cast<CallInst>(&instruction);
    if (!call || isa<IntrinsicInst>(call) || call->isMustTailCall() || loops.getLoopFor(call->getParent()))
      continue;
    if (call->doesNotReturn() || openers_.size() == kMaxOpeners) continue;
    if (function_.getName() == "main" || makes_threads(*call)) openers_.push_back(call);
  }
}

bool FunctionVersions::is_change(const Loop& loop, const InterferenceFreeRegions& regions,
                                 ArrayRef<const Instruction*> looks, ScalarEvolution& evolution) const {
  if (loop.getHeader()->isEHPad()) return false;
  if (none_of(looks, [&](const Instruction* look) { return loop.contains(look); })) return false;
  // Every change keeps alive what both versions need behind it, which short loops pay for in registers: a
  // nest that only computes is left to the loop around it.
  const bool calls = calls_something(loop);
  if (calls && calls_itself(function_, &loop)) return false;
  // But a loop that stands alone may be all that a thread does.
  if (!calls && loop.getParentLoop() && !regions.heads_long_loop(*loop.getHeader())) return false;
  if (!calls && (loop.getParentLoop() || calls_itself(function_)) && !is_deep(loop)) return false;
  const unsigned rounds = evolution.getSmallConstantMaxTripCount(&loop);
  return rounds == 0 || rounds > kFewRounds;
}

// Only what is defined in a block that dominates a head can be used behind it without being defined again.
void FunctionVersions::find_crossing() {
  DenseSet<const BasicBlock*> before;
  for (const Head& head : heads_) {
    const DomTreeNode* node = dominators_.getNode(head.block);
    for (node = node ? node->getIDom() : nullptr; node; node = node->getIDom())
      before.insert(node->getBlock());
  }
  for (BasicBlock& block : function_) {
    if (!before.contains(&block)) continue;
    for (Instruction& instruction : block) {
      if (const auto* variable = dyn_cast<AllocaInst>(&instruction); variable && variable->isStaticAlloca())
        continue;
      if (!instruction.getType()->isVoidTy()) crossing_.push_back(&instruction);
    }
  }
}

bool FunctionVersions::can_be_copied() const {
  unsigned count = 0;
  for (const BasicBlock& block : function_) {
    if (block.hasAddressTaken()) return false;
    const Instruction* const end = block.getTerminator();
    if (isa<IndirectBrInst>(end) || isa<CallBrInst>(end)) return false;
    for (const Instruction& instruction : block) {
      if (++count > kMaxInstructions || instruction.getType()->isTokenTy() || instruction.isSwiftError())
        return false;
      if (isa<FuncletPadInst>(instruction) || isa<CatchSwitchInst>(instruction)) return false;
      const auto* call = dyn_cast<CallBase>(&instruction);
      if (!call) continue;
      if (call->cannotDuplicate() || call->isConvergent() || call->hasFnAttr(Attribute::ReturnsTwice))
        return false;
      if (call->getIntrinsicID() == Intrinsic::localescape) return false;
    }
  }
  return true;
}

bool FunctionVersions::is_worth_it(bool asks_on_return) const {
  if (looks_ == 0) return false;
  const bool calls = any_of(instructions(function_), [](const Instruction& instruction) {
    return isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction);
  });
  return (looks_ > 1 || !heads_.empty() || !openers_.empty() || (asks_on_return && !calls)) &&
         can_be_copied();
}

// A function of the same signature can be jumped to, if nothing but registers and plain stack slots is
// passed.
bool FunctionVersions::can_be_two_functions() const {
  if (!heads_.empty() || !openers_.empty() || function_.isVarArg()) return false;
  if (function_.getFnAttribute("disable-tail-calls").getValueAsBool()) return false;
  return none_of(function_.args(), [](const Argument& argument) {
    return argument.hasPassPointeeByValueCopyAttr() || argument.hasNestAttr() || argument.hasSwiftErrorAttr();
  });
}

// Within the function. Variables are the same in both versions.
void FunctionVersions::copy_blocks(SmallVectorImpl<BasicBlock*>& plain) {
  body_ = &function_.getEntryBlock();
  SmallVector<BasicBlock*, 16> blocks;
  for (BasicBlock& block : function_) blocks.push_back(&block);
  SmallVector<AllocaInst*, 8> variables;
  for (Instruction& instruction : *body_)
    if (auto* variable = dyn_cast<AllocaInst>(&instruction); variable && variable->isStaticAlloca())
      variables.push_back(variable);
  entry_ = BasicBlock::Create(function_.getContext(), "dh.entry", &function_, body_);
  for (AllocaInst* variable : variables) variable->moveBefore(*entry_, entry_->end());
  for (BasicBlock* block : blocks) {
    BasicBlock* const copy = CloneBasicBlock(block, map_, ".plain", &function_);
    map_[block] = copy;
    plain.push_back(copy);
  }
  remapInstructionsInBlocks(plain, map_);
  new UnreachableInst(function_.getContext(), entry_);  // until the gate is looked at there
}

void FunctionVersions::copy(Placement& placement) {
  const bool calls = any_of(instructions(function_), [](const Instruction& instruction) {
    return isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction);
  });
  SmallVector<BasicBlock*, 16> plain;
  if (can_be_two_functions()) {
    plain_function_ = CloneFunction(&function_, map_);
    for (BasicBlock& block : *plain_function_) plain.push_back(&block);
  } else {
    for (CallInst* call : openers_) {
      BasicBlock* const block = call->getParent();
      BasicBlock* const rest = SplitBlock(block, call->getNextNode(), &dominators_, &loops_);
      heads_.push_back({rest, {block->getTerminator()}});
    }
    find_crossing();
    copy_blocks(plain);
  }

  const auto add_plain = [&](auto& places) {
    using Place = std::remove_pointer_t<typename std::remove_reference_t<decltype(places)>::value_type>;
    for (size_t i = 0, count = places.size(); i < count; ++i)
      places.push_back(cast<Place>(static_cast<Value*>(map_[places[i]])));
  };
  add_plain(placement.releases);
  add_plain(placement.aheads);
  add_plain(placement.asks);
  add_plain(placement.whose);
  if (!calls && heads_.empty()) quiet_exits_.insert(plain.begin(), plain.end());
}

// latch -> head becomes latch -> change -> head of either version, and the same in the other one.
void FunctionVersions::change_on_way_back(const Head& head, GlobalVariable& gate) {
  auto* const plain_head = cast<BasicBlock>(static_cast<Value*>(map_[head.block]));
  MDBuilder weights(function_.getContext());
  for (Instruction* latch : head.latches) {
    auto* const plain_latch = cast<Instruction>(static_cast<Value*>(map_[latch]));
    BasicBlock* ways[2];
    const std::pair<Instruction*, BasicBlock*> sides[2] = {{latch, head.block}, {plain_latch, plain_head}};
    for (unsigned side = 0; side < 2; ++side) {
      const auto [from, to] = sides[side];
      BasicBlock* const change = BasicBlock::Create(function_.getContext(), "dh.change", &function_, to);
      for (PHINode& phi : to->phis()) {
        Value* const value = phi.getIncomingValueForBlock(from->getParent());
        while (phi.getBasicBlockIndex(from->getParent()) >= 0)
          phi.removeIncomingValue(from->getParent(), /*DeletePHIIfEmpty=*/false);
        phi.addIncoming(value, change);
      }
      from->replaceSuccessorWith(to, change);
      ways[side] = change;
    }
    // Each head has a second way in now, from the other version, with that version's values.
    auto plain_phi = plain_head->phis().begin();
    for (PHINode& phi : head.block->phis()) {
      PHINode& other = *plain_phi++;
      Value* const value = phi.getIncomingValueForBlock(ways[0]);
      Value* const plain_value = other.getIncomingValueForBlock(ways[1]);
      phi.addIncoming(plain_value, ways[1]);
      other.addIncoming(value, ways[0]);
    }
    for (unsigned side = 0; side < 2; ++side) {
      IRBuilder<> builder(ways[side]);
      builder.SetCurrentDebugLocation(location_of(*latch));
      builder.CreateCondBr(is_open(builder, gate), head.block, plain_head,
                           weights.createUnlikelyBranchWeights());
    }
  }
}

// Two definitions become one variable, if anything outside their blocks uses it.
void FunctionVersions::merge(Instruction& value, Instruction& plain) {
  const auto is_used_elsewhere = [](const Instruction& definition) {
    return any_of(definition.users(), [&](const User* user) {
      const auto* by = cast<Instruction>(user);
      return by->getParent() != definition.getParent() || isa<PHINode>(by);
    });
  };
  if (!is_used_elsewhere(value) && !is_used_elsewhere(plain)) return;
  IRBuilder<> entry(entry_, entry_->begin());
  AllocaInst* const slot = entry.CreateAlloca(value.getType(), nullptr, "dh.slot");
  slots_.push_back(slot);
  for (Instruction* definition : {&value, &plain}) {
    SmallVector<Use*, 8> uses;
    for (Use& use : definition->uses()) uses.push_back(&use);
    Instruction* place = nullptr;
    if (auto* invoke = dyn_cast<InvokeInst>(definition)) {
      BasicBlock* next = invoke->getNormalDest();
      if (!next->getSinglePredecessor()) next = SplitEdge(invoke->getParent(), next);
      place = &*next->getFirstInsertionPt();
    } else {
      place = isa<PHINode>(definition) ? &*definition->getParent()->getFirstInsertionPt()
                                       : definition->getNextNode();
    }
    new StoreInst(definition, slot, place->getIterator());
    DenseMap<BasicBlock*, Value*> at_end;
    for (Use* use : uses) {
      auto* const user = cast<Instruction>(use->getUser());
      if (auto* phi = dyn_cast<PHINode>(user)) {
        BasicBlock* const from = phi->getIncomingBlock(*use);
        if (from == definition->getParent()) continue;  // right there: it is this one
        Value*& loaded = at_end[from];
        if (!loaded)
          loaded =
              new LoadInst(definition->getType(), slot, "dh.either", from->getTerminator()->getIterator());
        use->set(loaded);
      } else if (user->getParent() != definition->getParent() || isa<InvokeInst>(definition)) {
        use->set(new LoadInst(definition->getType(), slot, "dh.either", user->getIterator()));
      }
    }
  }
}

void FunctionVersions::connect(GlobalVariable& gate) {
  for (const Head& head : heads_) change_on_way_back(head, gate);
  for (Instruction* value : crossing_) merge(*value, *cast<Instruction>(static_cast<Value*>(map_[value])));

  auto* const plain_body = cast<BasicBlock>(static_cast<Value*>(map_[body_]));
  entry_->getTerminator()->eraseFromParent();
  IRBuilder<> builder(entry_);
  builder.SetCurrentDebugLocation(location_of(body_->front()));
  builder.CreateCondBr(is_open(builder, gate), body_, plain_body,
                       MDBuilder(function_.getContext()).createUnlikelyBranchWeights());
  DominatorTree dominators(function_);
  PromoteMemToReg(slots_, dominators);
}

namespace {

DebugLoc beginning_of(Function& function) {
  DISubprogram* const program = function.getSubprogram();
  if (!program) return {};
  const unsigned line = program->getScopeLine() ? program->getScopeLine() : program->getLine();
  return DILocation::get(function.getContext(), line, 0, program);
}

void exchange(Function& monitored, Function& plain) {
  monitored.replaceAllUsesWith(&plain);
  plain.takeName(&monitored);
  plain.setLinkage(monitored.getLinkage());
  // The other one goes with it when the linker drops one of several copies.
  plain.setComdat(monitored.getComdat());
  monitored.setName(plain.getName() + ".monitored");
  monitored.setLinkage(GlobalValue::InternalLinkage);
  monitored.setVisibility(GlobalValue::DefaultVisibility);
  monitored.setDLLStorageClass(GlobalValue::DefaultStorageClass);
  monitored.setDSOLocal(true);
}

}  // namespace

void connect_functions(Function& monitored, Function& plain, GlobalVariable& gate) {
  exchange(monitored, plain);
  BasicBlock& entry = plain.getEntryBlock();
  BasicBlock::iterator place = entry.begin();
  while (isa<AllocaInst>(place)) ++place;
  BasicBlock* const body = entry.splitBasicBlock(place);
  BasicBlock* const jump = BasicBlock::Create(plain.getContext(), "dh.monitored", &plain);
  entry.getTerminator()->eraseFromParent();
  IRBuilder<> builder(&entry);
  builder.SetCurrentDebugLocation(beginning_of(plain));
  builder.CreateCondBr(is_open(builder, gate), jump, body,
                       MDBuilder(plain.getContext()).createUnlikelyBranchWeights());
  builder.SetInsertPoint(jump);
  SmallVector<Value*, 8> arguments;
  for (Argument& argument : plain.args()) arguments.push_back(&argument);
  CallInst* const call = builder.CreateCall(&monitored, arguments);
  call->setCallingConv(plain.getCallingConv());
  call->setTailCallKind(CallInst::TCK_MustTail);
  const AttributeList attributes = plain.getAttributes();
  SmallVector<AttributeSet, 8> of_arguments;
  for (unsigned i = 0; i < arguments.size(); ++i) of_arguments.push_back(attributes.getParamAttrs(i));
  call->setAttributes(
      AttributeList::get(plain.getContext(), AttributeSet(), attributes.getRetAttrs(), of_arguments));
  if (plain.getReturnType()->isVoidTy())
    builder.CreateRetVoid();
  else
    builder.CreateRet(call);
}

}  // namespace deadheat::instrument
