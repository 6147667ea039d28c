#include "instrument/kept_variables.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IntrinsicInst.h>

namespace deadheat::instrument {

using namespace llvm;

namespace {

constexpr uint64_t kGranule = 8;
constexpr uint64_t kMostBytes = 64;

// What an instruction does to one variable.
struct Use {
  enum Kind { kStart, kEnd, kStore, kOther } kind;
  uint64_t offset = 0;  // of a store
  uint64_t size = 0;
};

// All uses of one variable, by instruction.
class Uses {
 public:
  Uses(const AllocaInst& variable, const DataLayout& layout) : layout_(layout) { follow(variable, 0); }

  const Use* of(const Instruction& instruction) const {
    const auto found = uses_.find(&instruction);
    return found != uses_.end() ? &found->second : nullptr;
  }
  ArrayRef<const Instruction*> starts() const { return starts_; }
  // Nothing but what was found here can use the variable.
  bool are_all() const { return are_all_; }

 private:
  // `pointer` is the variable's address, `offset` bytes further.
  void follow(const Value& pointer, uint64_t offset) {
    for (const User* user : pointer.users()) {
      const auto* instruction = cast<Instruction>(user);
      if (const auto* element = dyn_cast<GetElementPtrInst>(instruction)) {
        APInt further(layout_.getIndexTypeSizeInBits(element->getType()), 0);
        if (element->accumulateConstantOffset(layout_, further)) {
          follow(*element, offset + further.getZExtValue());
          continue;
        }
      }
      if (makes_pointer(*instruction)) are_all_ = false;
      note(*instruction, what_it_does(*instruction, pointer, offset));
    }
  }

  // Its result may point to the variable, and it need not stand where the source has it.
  static bool makes_pointer(const Instruction& instruction) {
    if (const auto* call = dyn_cast<CallBase>(&instruction))
      return !call->getType()->isVoidTy() && (isa<IntrinsicInst>(call) || call->doesNotAccessMemory());
    return !isa<LoadInst>(instruction) && !isa<StoreInst>(instruction) && !isa<AtomicRMWInst>(instruction) &&
           !isa<AtomicCmpXchgInst>(instruction) && !isa<ICmpInst>(instruction);
  }

  Use what_it_does(const Instruction& instruction, const Value& pointer, uint64_t offset) {
    if (const auto* store = dyn_cast<StoreInst>(&instruction)) {
      if (store->isSimple() && store->getValueOperand() != &pointer)
        return {Use::kStore, offset,
                layout_.getTypeStoreSize(store->getValueOperand()->getType()).getKnownMinValue()};
    } else if (const auto* marker = dyn_cast<IntrinsicInst>(&instruction)) {
      if (marker->getIntrinsicID() == Intrinsic::lifetime_start) {
        starts_.push_back(marker);
        return {Use::kStart};
      }
      if (marker->getIntrinsicID() == Intrinsic::lifetime_end) return {Use::kEnd};
    }
    return {Use::kOther};
  }

  // An instruction that uses it twice does something else.
  void note(const Instruction& instruction, const Use& use) {
    const auto [entry, is_new] = uses_.try_emplace(&instruction, use);
    if (!is_new) entry->second = {Use::kOther};
  }

  const DataLayout& layout_;
  DenseMap<const Instruction*, Use> uses_;
  SmallVector<const Instruction*, 4> starts_;
  bool are_all_ = true;
};

// Is all of the variable written on every way from a start of its scope, before any other use?
class Initialisation {
 public:
  Initialisation(const Uses& uses, uint64_t size) : uses_(uses), size_(size) {}

  bool is_first() {
    for (const Instruction* start : uses_.starts())
      if (!scan(*start->getParent(), std::next(start->getIterator()))) return false;
    while (!open_.empty()) {
      const BasicBlock* const block = open_.pop_back_val();
      if (!scan(*block, block->begin())) return false;
    }
    return true;
  }

 private:
  // From `from` to the end of the block, and later what follows it. What is written in part when a block ends
  // counts as not written.
  bool scan(const BasicBlock& block, BasicBlock::const_iterator from) {
    BitVector written(static_cast<unsigned>(size_));
    for (; from != block.end(); ++from) {
      const Use* const use = uses_.of(*from);
      if (!use || use->kind == Use::kStart) continue;
      if (use->kind == Use::kEnd) return true;
      if (use->kind == Use::kOther || use->offset + use->size > size_) return false;
      written.set(static_cast<unsigned>(use->offset), static_cast<unsigned>(use->offset + use->size));
      if (written.all()) return true;
    }
    for (const BasicBlock* next : successors(&block))
      if (seen_.insert(next).second) open_.push_back(next);
    return true;
  }

  const Uses& uses_;
  uint64_t size_;
  SmallPtrSet<const BasicBlock*, 16> seen_;
  SmallVector<const BasicBlock*, 16> open_;
};

bool is_kept(const AllocaInst& variable, const LoopInfo& loops) {
  const DataLayout& layout = variable.getDataLayout();
  if (!variable.isStaticAlloca() || variable.getAlign().value() < kGranule) return false;
  const uint64_t size = variable.getAllocationSize(layout)->getFixedValue();
  if (size == 0 || size % kGranule != 0 || size > kMostBytes) return false;
  const Uses uses(variable, layout);
  const auto is_in_loop = [&](const Instruction* start) { return loops.getLoopFor(start->getParent()); };
  return uses.are_all() && any_of(uses.starts(), is_in_loop) && Initialisation(uses, size).is_first();
}

}  // namespace

KeptVariables kept_variables(const Function& function, ArrayRef<AllocaInst*> escaping,
                             const LoopInfo& loops) {
  KeptVariables kept;
  if (!function.doesNotThrow() || function.callsFunctionThatReturnsTwice()) return kept;
  for (const AllocaInst* variable : escaping)
    if (is_kept(*variable, loops)) kept.insert(variable);
  return kept;
}

}  // namespace deadheat::instrument
