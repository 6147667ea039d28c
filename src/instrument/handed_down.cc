#include "instrument/handed_down.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/InstructionSimplify.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/CallPromotionUtils.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

namespace deadheat::instrument {

using namespace llvm;

namespace {

// Beyond this a function is generated, or has more to do than to hand down.
constexpr size_t kMaxBlocks = 1000;
constexpr size_t kMaxQuestions = 2000;  // about ways, per variable
constexpr size_t kMaxReleases = 3;      // places before the call where a variable is exposed
constexpr size_t kMaxCalls = 8;         // of copies of a loop's body, for example
constexpr uint64_t kMaxBytes = 128;

using Barriers = SmallPtrSet<const Instruction*, 4>;

// The ways to an instruction that pass none of `barriers`. Walked once, from their end: where a variable's
// scope begins is seldom far from where it is used.
class WaysTo {
 public:
  // REQUIRES: both outlive it.
  WaysTo(const Instruction& to, const Barriers& barriers) : to_(to), barriers_(barriers) {
    for (const Instruction* barrier : barriers) barred_.insert(barrier->getParent());
    SmallVector<const BasicBlock*, 32> open;
    const auto go_back = [&](const BasicBlock& block) {
      for (const BasicBlock* before : predecessors(&block))
        if (ends_.insert(before).second) open.push_back(before);
    };
    if (is_free(to.getParent()->begin(), to.getIterator())) go_back(*to.getParent());
    while (!open.empty()) {
      const BasicBlock* const block = open.pop_back_val();
      if (is_free(block->begin(), block->end())) go_back(*block);
    }
  }

  // Is there one from behind `from`?
  bool from(const Instruction& from) const {
    const BasicBlock* const block = from.getParent();
    const auto next = std::next(from.getIterator());
    if (block == to_.getParent() && from.comesBefore(&to_) && is_free(next, to_.getIterator())) return true;
    return ends_.contains(block) && is_free(next, block->end());
  }

 private:
  // No barrier within a part of a block?
  bool is_free(BasicBlock::const_iterator first, BasicBlock::const_iterator end) const {
    if (first == end || !barred_.contains(first->getParent())) return true;
    return none_of(make_range(first, end),
                   [&](const Instruction& instruction) { return barriers_.contains(&instruction); });
  }

  const Instruction& to_;
  const Barriers& barriers_;
  SmallPtrSet<const BasicBlock*, 4> barred_;
  SmallPtrSet<const BasicBlock*, 32> ends_;  // lead there
};

MDNode* unlikely(LLVMContext& context) { return MDBuilder(context).createUnlikelyBranchWeights(); }
MDNode* likely(LLVMContext& context) { return MDBuilder(context).createLikelyBranchWeights(); }

}  // namespace

// What becomes of one variable's address.
class HandedDown::Candidate {
 public:
  Candidate(AllocaInst& variable, const AccessList& accesses) {
    if (!variable.isStaticAlloca() || variable.isArrayAllocation()) return;
    const TypeSize size = variable.getDataLayout().getTypeAllocSize(variable.getAllocatedType());
    if (size.isScalable() || size.getFixedValue() > kMaxBytes || !follow(variable)) return;
    if (calls_.empty() || calls_.size() > kMaxCalls) return;
    for (size_t i = 0; i < accesses.size(); ++i) {
      if (!pointers_.contains(accesses[i].address)) continue;
      // A pointer to virtual functions is looked at by its check, before it is written.
      if (accesses[i].size == 0) return;
      accesses_.push_back(i);
    }
    is_one_ = true;
  }

  bool is_one() const { return is_one_; }
  const MapVector<CallBase*, unsigned>& calls() const { return calls_; }  // and as which argument
  const Barriers& starts() const { return starts_; }
  ArrayRef<size_t> accesses() const { return accesses_; }

 private:
  bool follow(Value& pointer) {
    pointers_.insert(&pointer);
    for (Use& use : pointer.uses()) {
      auto* const user = cast<Instruction>(use.getUser());
      if (auto* element = dyn_cast<GetElementPtrInst>(user)) {
        if (!element->hasAllConstantIndices() || !follow(*element)) return false;
      } else if (auto* load = dyn_cast<LoadInst>(user)) {
        if (!load->isSimple()) return false;
      } else if (auto* store = dyn_cast<StoreInst>(user)) {
        if (!store->isSimple() || use.getOperandNo() != StoreInst::getPointerOperandIndex()) return false;
      } else if (auto* marker = dyn_cast<LifetimeIntrinsic>(user)) {
        if (marker->getIntrinsicID() == Intrinsic::lifetime_start) starts_.insert(marker);
      } else if (auto* memory = dyn_cast<MemIntrinsic>(user)) {
        // A longer one, in code that is never reached, would not stay where it is.
        const auto* length = dyn_cast<ConstantInt>(memory->getLength());
        if (memory->isVolatile() || !length || length->getValue().ugt(AccessInstrumenter::kMaxInPlace))
          return false;
      } else if (auto* call = dyn_cast<CallBase>(user)) {
        if (!is_handed_to(*call, use)) return false;
      } else {
        return false;
      }
    }
    return true;
  }

  bool is_handed_to(CallBase& call, const Use& use) {
    if (isa<IntrinsicInst>(call) || call.isInlineAsm() || !call.isArgOperand(&use)) return false;
    const unsigned argument = call.getArgOperandNo(&use);
    if (call.isByValArgument(argument) || call.paramHasAttr(argument, Attribute::Returned)) return false;
    if (call.isMustTailCall() || call.hasOperandBundles() || call.cannotDuplicate()) return false;
    if (argument >= kMaxArguments) return false;
    if (!isa<CallInst>(call) && !isa<InvokeInst>(call)) return false;
    return calls_.insert({&call, argument}).second;
  }

  bool is_one_ = false;
  MapVector<CallBase*, unsigned> calls_;
  Barriers starts_;
  SmallPtrSet<const Value*, 8> pointers_;
  SmallVector<size_t, 8> accesses_;
};

bool HandedDown::may_ask(const CallBase& call) const {
  if (call.isIndirectCall()) return true;
  // The address of a function that is elsewhere: only where the linker need not make one of its own.
  const Function* const callee = call.getCalledFunction();
  return callee && callee->isDeclaration() && !callee->hasExternalWeakLinkage() &&
         function_.getParent()->getPICLevel() != PICLevel::NotPIC;
}

ArgumentMask HandedDown::private_of(const CallBase& call, ArgumentMask handed) {
  ArgumentMask found = handed;
  for (unsigned i = 0; i < call.arg_size() && i < kMaxArguments; ++i) {
    const Value* const argument = call.getArgOperand(i);
    if (argument->getType()->isPointerTy() && !isa<Constant>(argument) && !call.isByValArgument(i) &&
        escapes_.is_private(argument))
      found |= ArgumentMask{1} << i;
  }
  return found;
}

// How `candidate` is exposed; nothing if it does not qualify.
std::optional<HandedDown::Variable> HandedDown::plan(AllocaInst& variable, const Candidate& candidate,
                                                     const AccessList& accesses,
                                                     ArrayRef<Instruction*> releases,
                                                     const DominatorTree& dominators) const {
  const Barriers& starts = candidate.starts();
  const size_t places = candidate.calls().size() + releases.size();
  if (places * (candidate.accesses().size() + candidate.calls().size()) > kMaxQuestions) return {};
  // Once in each life.
  std::vector<WaysTo> ways_to_calls;
  ways_to_calls.reserve(candidate.calls().size());
  for (const auto& [call, argument] : candidate.calls()) ways_to_calls.emplace_back(*call, starts);
  const auto leads_to_call = [&](const Instruction& from) {
    return any_of(ways_to_calls, [&](const WaysTo& ways) { return ways.from(from); });
  };
  for (const auto& [call, argument] : candidate.calls())
    if (leads_to_call(*call)) return {};

  bool is_good = true;
  // The accesses that lead to `instruction`, all of which must have been made in this life whenever it is
  // reached.
  const auto place_at = [&](Instruction& instruction, ArgumentMask argument) {
    Place place{&instruction, argument, {}};
    const WaysTo ways(instruction, starts);
    for (size_t i : candidate.accesses()) {
      const Instruction& access = *accesses[i].instruction;
      if (&access == &instruction || !ways.from(access)) continue;
      Barriers around = starts;
      around.insert(&access);
      const WaysTo ways_around(instruction, around);
      is_good &= dominators.dominates(&access, &instruction) &&
                 none_of(starts, [&](const Instruction* start) { return ways_around.from(*start); });
      place.accesses.push_back(i);
    }
    return place;
  };
  Variable planned;
  planned.variable = &variable;
  for (const Instruction* start : starts) planned.starts.push_back(const_cast<Instruction*>(start));
  for (const auto& [call, argument] : candidate.calls())
    planned.calls.push_back(place_at(*call, ArgumentMask{1} << argument));
  for (Instruction* release : releases) {
    if (!is_good) return {};
    const auto is_release = [&](const auto& call) { return call.first == release; };
    if (any_of(candidate.calls(), is_release) || !leads_to_call(*release)) continue;
    Place place = place_at(*release, 0);
    if (place.accesses.empty()) continue;
    planned.releases.push_back(std::move(place));
    if (planned.releases.size() > kMaxReleases) return {};
  }
  if (!is_good) return {};
  return planned;
}

// May `call` be made a choice, if these variables are handed to it?
bool HandedDown::may_choose(const CallBase& call, ArgumentMask handed) {
  const Function* const callee = call.getCalledFunction();
  if (!callee || callee->isDeclaration()) return may_ask(call);
  const PrivateVersions::Version version = versions_.version_of(*callee);
  return version.function && (handed & ~version.arguments) == 0 &&
         (version.arguments & ~private_of(call, handed)) == 0;
}

void HandedDown::choose(ArrayRef<AllocaInst*> escaping, AccessList& accesses,
                        const SyncFreeFunctions& sync_free, const DominatorTree& dominators) {
  if (escaping.empty() || function_.size() > kMaxBlocks || function_.callsFunctionThatReturnsTwice()) return;
  SmallVector<Instruction*, 32> releases;
  for (Instruction& instruction : instructions(function_))
    if (sync_free.effects_of(instruction).releases) releases.push_back(&instruction);

  DenseMap<const AllocaInst*, SmallVector<size_t, 8>> accesses_of;
  for (AllocaInst* variable : escaping) {
    const Candidate candidate(*variable, accesses);
    if (!candidate.is_one()) continue;
    if (auto planned = plan(*variable, candidate, accesses, releases, dominators)) {
      variables_[variable] = std::move(*planned);
      accesses_of[variable].append(candidate.accesses().begin(), candidate.accesses().end());
    }
  }
  // A call that cannot be made a choice takes its variables away from others.
  for (bool changed = true; changed;) {
    calls_.clear();
    for (auto& [alloca, variable] : variables_)
      for (const Place& call : variable.calls)
        calls_[cast<CallBase>(call.instruction)].handed |= call.argument;
    const size_t before = variables_.size();
    variables_.remove_if([&](const auto& entry) {
      return any_of(entry.second.calls, [&](const Place& place) {
        auto* const call = cast<CallBase>(place.instruction);
        return !may_choose(*call, calls_[call].handed);
      });
    });
    changed = variables_.size() != before;
  }
  if (variables_.empty()) return;
  for (auto& [call, choice] : calls_) choice.arguments = private_of(*call, choice.handed);

  // Their accesses move to a list of their own.
  std::vector<bool> is_chosen(accesses.size());
  for (auto& [alloca, variable] : variables_)
    for (size_t i : accesses_of[alloca]) is_chosen[i] = true;
  std::vector<size_t> moved(accesses.size());
  AccessList others;
  for (size_t i = 0; i < accesses.size(); ++i) {
    AccessList& to = is_chosen[i] ? accesses_ : others;
    moved[i] = to.size();
    to.push_back(accesses[i]);
  }
  accesses = std::move(others);
  for (auto& [alloca, variable] : variables_)
    for (auto* places : {&variable.calls, &variable.releases})
      for (Place& place : *places)
        for (size_t& i : place.accesses) i = moved[i];
}

void HandedDown::make_flags(Variable& variable, bool is_kept) {
  BasicBlock& entry = function_.getEntryBlock();
  const auto make = [&](const char* name) {
    IRBuilder<> builder(&entry, entry.begin());
    auto* const flag = builder.CreateAlloca(builder.getInt1Ty(), nullptr, name);
    BasicBlock::iterator first = entry.begin();
    while (isa<AllocaInst>(*first)) ++first;
    builder.SetInsertPoint(&entry, first);
    builder.CreateStore(builder.getFalse(), flag);
    flags_.push_back(flag);
    return flag;
  };
  variable.exposed = make("dh.exposed");
  variable.ever_exposed = is_kept ? make("dh.ever_exposed") : variable.exposed;
  for (Instruction* start : variable.starts) {
    IRBuilder<> builder(start->getNextNode());
    builder.CreateStore(builder.getFalse(), variable.exposed);
  }
}

void HandedDown::expose(Variable& variable, const Place& place, Instruction& before,
                        AccessInstrumenter& instrumenter) {
  IRBuilder<> builder(&before);
  LoadInst* const is_exposed = builder.CreateLoad(builder.getInt1Ty(), variable.exposed);
  variable.exposures.push_back(is_exposed);
  Instruction* const end = SplitBlockAndInsertIfElse(is_exposed, before.getIterator(), /*Unreachable=*/false);
  guards_.push_back(end->getParent()->getSinglePredecessor()->getTerminator());
  builder.SetInsertPoint(end);
  for (size_t i : place.accesses)
    if (accesses_[i].live) instrumenter.emit_check(builder, accesses_[i]);
  // Either way: as a value it is known then.
  builder.SetInsertPoint(&before);
  builder.CreateStore(builder.getTrue(), variable.exposed);
  if (variable.ever_exposed != variable.exposed)
    builder.CreateStore(builder.getTrue(), variable.ever_exposed);
}

void HandedDown::call_version(CallBase& call, ArgumentMask arguments, AccessInstrumenter& instrumenter) {
  const Function* const callee = call.getCalledFunction();
  const bool is_known = callee && !callee->isDeclaration();
  IRBuilder<> builder(&call);
  builder.SetCurrentDebugLocation(location_of(call));
  Value* condition = is_known ? builder.getTrue() : PrivateVersions::emit_question(builder, call, arguments);
  SmallVector<std::pair<Variable*, const Place*>, 4> handed;
  for (auto& [alloca, variable] : variables_)
    for (const Place& place : variable.calls)
      if (place.instruction == &call) handed.push_back({&variable, &place});
  for (const auto& [variable, place] : handed) {
    Value* const is_exposed = builder.CreateLoad(builder.getInt1Ty(), variable->exposed);
    condition = builder.CreateSelect(is_exposed, builder.getFalse(), condition);
    conditions_.push_back(condition);
  }
  CallBase& private_call = versionCallSite(call, call.getCalledOperand(), likely(function_.getContext()));
  BasicBlock* const asks = private_call.getParent()->getSinglePredecessor();
  auto* const branch = cast<BranchInst>(asks->getTerminator());
  auto* const comparison = dyn_cast<Instruction>(branch->getCondition());
  branch->setCondition(condition);
  if (comparison) comparison->eraseFromParent();
  guards_.push_back(branch);

  builder.SetInsertPoint(&private_call);
  builder.SetCurrentDebugLocation(private_call.getDebugLoc());
  Value* const version = is_known ? versions_.version_of(*callee).function
                                  : PrivateVersions::emit_version(builder, private_call);
  private_call.setCalledOperand(version);
  private_call.setMetadata(LLVMContext::MD_callees, nullptr);
  private_call.setMetadata(LLVMContext::MD_prof, nullptr);
  for (const auto& [variable, place] : handed) expose(*variable, *place, call, instrumenter);
}

void HandedDown::emit(AccessInstrumenter& instrumenter, const KeptVariables& kept, Statistics& statistics) {
  if (variables_.empty()) return;
  statistics.handed_down += variables_.size();
  for (auto& [alloca, variable] : variables_) make_flags(variable, kept.contains(alloca));
  // Where they are, if they are exposed already.
  for (const Access& access : accesses_) {
    if (!access.live) continue;
    const auto* variable = cast<AllocaInst>(getUnderlyingObject(access.address, /*MaxLookup=*/0));
    IRBuilder<> builder(where_exposed(*variable, /*ever=*/false, *access.instruction));
    instrumenter.emit_check(builder, access);
  }
  for (auto& [alloca, variable] : variables_)
    for (const Place& place : variable.releases) expose(variable, place, *place.instruction, instrumenter);
  for (auto& [call, choice] : calls_) call_version(*call, choice.arguments, instrumenter);
}

Instruction* HandedDown::where_exposed(const AllocaInst& variable, bool ever, Instruction& before) {
  const auto found = variables_.find(&variable);
  if (found == variables_.end()) return &before;
  IRBuilder<> builder(&before);
  AllocaInst* const flag = ever ? found->second.ever_exposed : found->second.exposed;
  Value* const is_exposed = builder.CreateLoad(builder.getInt1Ty(), flag);
  Instruction* const end = SplitBlockAndInsertIfThen(is_exposed, before.getIterator(), /*Unreachable=*/false,
                                                     unlikely(function_.getContext()));
  guards_.push_back(end->getParent()->getSinglePredecessor()->getTerminator());
  return end;
}

std::optional<ArrayRef<Instruction*>> HandedDown::exposures_of(const AllocaInst& variable) const {
  const auto found = variables_.find(&variable);
  if (found == variables_.end()) return std::nullopt;
  return ArrayRef<Instruction*>(found->second.exposures);
}

void HandedDown::finish() {
  if (flags_.empty()) return;
  DominatorTree dominators(function_);
  PromoteMemToReg(flags_, dominators);
  const SimplifyQuery query(function_.getDataLayout());
  // What is known about one may decide the next.
  for (bool changed = true; changed;) {
    changed = false;
    for (WeakTrackingVH& value : conditions_) {
      auto* const condition = dyn_cast_or_null<Instruction>(value);
      if (!condition) continue;
      if (Value* simpler = simplifyInstruction(condition, query)) {
        condition->replaceAllUsesWith(simpler);
        RecursivelyDeleteTriviallyDeadInstructions(condition);
      }
    }
    for (WeakVH& guard : guards_)
      if (auto* branch = dyn_cast_or_null<BranchInst>(guard))
        changed |= ConstantFoldTerminator(branch->getParent(), /*DeleteDeadConditions=*/true);
    if (changed) removeUnreachableBlocks(function_);
  }
}

void call_private_versions(Function& function, EscapeAnalysis& escapes, const PrivateVersions& versions,
                           Statistics& statistics) {
  for (Instruction& instruction : instructions(function)) {
    auto* const call = dyn_cast<CallBase>(&instruction);
    if (!call || !call->getCalledFunction()) continue;
    const PrivateVersions::Version version = versions.version_of(*call->getCalledFunction());
    if (!version.function) continue;
    bool is_private = true;
    for (unsigned i = 0; i < call->arg_size() && i < kMaxArguments; ++i)
      if ((version.arguments >> i & 1) != 0) is_private &= escapes.is_private(call->getArgOperand(i));
    if (!is_private) continue;
    call->setCalledFunction(version.function);
    ++statistics.private_calls;
  }
}

}  // namespace deadheat::instrument
