#include "instrument/selected_reads.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <optional>

// By its address callbacks know that they are given a function. LLVM's library has it; one of our own, which
// is what the plugin would get otherwise, is the address of something else.
extern template struct llvm::Any::TypeId<const llvm::Function*>;

namespace deadheat::instrument {
namespace {

using namespace llvm;

constexpr const char* kMark = "deadheat.read";
constexpr const char* kMasked = "deadheat.masked";  // with the number of the mask

bool is_marked(const Instruction& read) { return read.getMetadata(kMark) != nullptr; }

// A read of no mark that nothing but selections have use for. InstCombine gives both the place in the source
// that the read had which they were made from; of two reads of the same variable it keeps the first.
bool is_invented(const LoadInst& read) {
  if (!read.isSimple() || read.use_empty() || is_marked(read)) return false;
  bool is_of_its_place = false;
  for (const Use& use : read.uses()) {
    const auto* const selection = dyn_cast<SelectInst>(use.getUser());
    if (selection == nullptr || !selection->getCondition()->getType()->isIntegerTy(1)) return false;
    is_of_its_place |= selection->getDebugLoc() == read.getDebugLoc();
  }
  return is_of_its_place;
}

// The later one, if what they read is the same wherever between the two it is read.
LoadInst* later_of(LoadInst* a, LoadInst* b) {
  if (a->getParent() != b->getParent()) return nullptr;
  if (b->comesBefore(a)) std::swap(a, b);
  for (const Instruction* i = a; i != b; i = i->getNextNode())
    if (i->mayWriteToMemory()) return nullptr;
  return b;
}

// What is read instead of what is not to be read: large enough, and never written.
Constant* nothing_to_read(Module& module, Type* type) {
  const uint64_t size = module.getDataLayout().getTypeStoreSize(type);
  const std::string name = "__deadheat_nothing" + std::to_string(size);
  if (GlobalVariable* const known = module.getNamedGlobal(name)) return known;
  auto* const bytes = ArrayType::get(Type::getInt8Ty(module.getContext()), size);
  // Not constant to the optimiser, or the read would be folded and the other one be left alone.
  auto* const made = new GlobalVariable(module, bytes, false, GlobalValue::PrivateLinkage,
                                        ConstantAggregateZero::get(bytes), name);
  made->setAlignment(Align(64));
  return made;
}

// When a read is chosen: a condition, and whether it must hold.
struct Choice {
  Value* condition;
  bool when;

  friend bool operator==(const Choice&, const Choice&) = default;
};

class InventedReads {
 public:
  explicit InventedReads(Function& function) : function_(function) {
    for (Instruction& i : instructions(function))
      if (auto* const read = dyn_cast<LoadInst>(&i); read != nullptr && is_invented(*read))
        reads_.insert(read);
  }

  unsigned make_conditional() {
    unsigned made = 0;
    while (!reads_.empty()) {
      LoadInst* const read = reads_.pop_back_val();
      made += unite_with_other(read) || read_only_if_chosen(read) ? 1 : 0;
    }
    return made;
  }

 private:
  bool is_known_at(const Value* condition, const Instruction* place) {
    const auto* const made = dyn_cast<Instruction>(condition);
    if (made == nullptr) return true;
    if (!dominators_) dominators_.emplace(function_);
    return dominators_->dominates(made, place);
  }

  static LoadInst* read_selected(IRBuilder<>& builder, const LoadInst* like, Value* condition, Value* chosen,
                                 Value* other, Align align) {
    LoadInst* const read =
        builder.CreateAlignedLoad(like->getType(), builder.CreateSelect(condition, chosen, other), align);
    read->setDebugLoc(like->getDebugLoc());
    return read;
  }

  // The usual case: of two variables that are read for one selection, one is.
  bool unite_with_other(LoadInst* read) {
    if (!read->hasOneUse()) return false;
    auto* const selection = cast<SelectInst>(read->user_back());
    auto* const chosen = dyn_cast<LoadInst>(selection->getTrueValue());
    auto* const other = dyn_cast<LoadInst>(selection->getFalseValue());
    if (chosen == nullptr || other == nullptr || chosen == other) return false;
    LoadInst* const partner = read == chosen ? other : chosen;
    if (!reads_.contains(partner) || !partner->hasOneUse()) return false;
    LoadInst* const later = later_of(chosen, other);
    Value* const condition = selection->getCondition();
    if (later == nullptr || !is_known_at(condition, later) ||
        chosen->getPointerOperandType() != other->getPointerOperandType())
      return false;
    IRBuilder<> builder(later);
    LoadInst* const united =
        read_selected(builder, later, condition, chosen->getPointerOperand(), other->getPointerOperand(),
                      std::min(chosen->getAlign(), other->getAlign()));
    reads_.remove(partner);
    selection->replaceAllUsesWith(united);
    selection->eraseFromParent();
    chosen->eraseFromParent();
    other->eraseFromParent();
    return true;
  }

  bool read_only_if_chosen(LoadInst* read) {
    Value* const pointer = read->getPointerOperand();
    Constant* const nothing = nothing_to_read(*function_.getParent(), read->getType());
    SmallVector<Choice> choices;
    if (pointer == nothing || pointer->getType() != nothing->getType() || !choices_of(read, choices))
      return false;
    IRBuilder<> builder(read);
    Value* is_chosen = nullptr;
    for (const Choice& choice : choices) {
      // What one of them is must not matter where the other one is asked.
      Value* const condition =
          choices.size() == 1 ? choice.condition : builder.CreateFreeze(choice.condition);
      Value* const holds = choice.when ? condition : builder.CreateNot(condition);
      is_chosen = is_chosen == nullptr ? holds : builder.CreateOr(is_chosen, holds);
    }
    LoadInst* const instead = read_selected(builder, read, is_chosen, pointer, nothing, read->getAlign());
    read->replaceAllUsesWith(instead);
    read->eraseFromParent();
    return true;
  }

  // False: it is always chosen, or that is not known where it is read.
  bool choices_of(const LoadInst* read, SmallVector<Choice>& choices) {
    for (const Use& use : read->uses()) {
      auto* const selection = cast<SelectInst>(use.getUser());
      Choice const choice{selection->getCondition(), selection->getTrueValue() == read};
      if (selection->getTrueValue() == selection->getFalseValue() || !is_known_at(choice.condition, read) ||
          is_contained(choices, Choice{choice.condition, !choice.when}))
        return false;
      if (!is_contained(choices, choice)) choices.push_back(choice);
    }
    return true;
  }

  Function& function_;
  SmallSetVector<LoadInst*, 8> reads_;
  std::optional<DominatorTree> dominators_;
};

}  // namespace

namespace {

bool is_masked_read(const Instruction& instruction) {
  const auto* const call = dyn_cast<IntrinsicInst>(&instruction);
  return call != nullptr && call->getIntrinsicID() == Intrinsic::masked_load;
}

// What InstCombine has made of reads under a mask keeps their metadata.
unsigned mask_again(Function& function, const Masks& masks) {
  if (masks.empty()) return 0;
  SmallVector<LoadInst*> unmasked;
  for (Instruction& i : instructions(function))
    if (auto* const read = dyn_cast<LoadInst>(&i); read != nullptr && read->hasMetadata(kMasked))
      unmasked.push_back(read);
  if (unmasked.empty()) return 0;
  const DominatorTree dominators(function);
  unsigned masked = 0;
  for (LoadInst* const read : unmasked) {
    const auto number = mdconst::extract<ConstantInt>(read->getMetadata(kMasked)->getOperand(0));
    Value* const mask = masks[number->getZExtValue()];
    const auto* const constant = dyn_cast_or_null<Constant>(mask);
    if (mask == nullptr || (constant != nullptr && constant->isAllOnesValue()) ||
        !dominators.dominates(mask, read))
      continue;
    IRBuilder<> builder(read);
    CallInst* const instead =
        builder.CreateMaskedLoad(read->getType(), read->getPointerOperand(), read->getAlign(), mask);
    instead->setDebugLoc(read->getDebugLoc());
    read->replaceAllUsesWith(instead);
    read->eraseFromParent();
    ++masked;
  }
  return masked;
}

}  // namespace

Masks mark_reads(Function& function) {
  LLVMContext& context = function.getContext();
  MDNode* const mark = MDNode::get(context, {});
  Masks masks;
  for (Instruction& i : instructions(function)) {
    if (isa<LoadInst>(i)) i.setMetadata(kMark, mark);
    if (!is_masked_read(i)) continue;
    auto* const number = ConstantInt::get(Type::getInt64Ty(context), masks.size());
    i.setMetadata(kMasked, MDNode::get(context, ConstantAsMetadata::get(number)));
    masks.emplace_back(cast<IntrinsicInst>(i).getArgOperand(2));
  }
  return masks;
}

unsigned unite_selected_reads(Function& function, const Masks& masks) {
  const unsigned masked = mask_again(function, masks);
  const unsigned united = InventedReads(function).make_conditional();
  for (Instruction& i : instructions(function)) {
    if (isa<LoadInst>(i)) i.setMetadata(kMark, nullptr);
    if (isa<LoadInst>(i) || is_masked_read(i)) i.setMetadata(kMasked, nullptr);
  }
  return masked + united;
}

void keep_selected_reads(PassInstrumentationCallbacks& callbacks) {
  // What a callback is given is const, because most only look.
  const auto watched = [](StringRef pass, const Any& unit) -> Function* {
    const Function* const* const function = any_cast<const Function*>(&unit);
    if (pass != "InstCombinePass" || function == nullptr) return nullptr;
    return (*function)->hasFnAttribute(Attribute::SanitizeThread) ? const_cast<Function*>(*function)
                                                                  : nullptr;
  };
  const auto masks = std::make_shared<Masks>();
  callbacks.registerBeforeNonSkippedPassCallback([watched, masks](StringRef pass, const Any& unit) {
    if (Function* const function = watched(pass, unit)) *masks = mark_reads(*function);
  });
  callbacks.registerAfterPassCallback(
      [watched, masks](StringRef pass, const Any& unit, const PreservedAnalyses&) {
        if (Function* const function = watched(pass, unit)) unite_selected_reads(*function, *masks);
        masks->clear();
      });
}

}  // namespace deadheat::instrument
