#include "instrument/source_lines.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

namespace deadheat::instrument {

using namespace llvm;

namespace {

constexpr unsigned kMaxSteps = 16;  // how far a line is looked for

bool has_line(const Instruction& instruction) {
  return instruction.getDebugLoc() && instruction.getDebugLoc().getLine() != 0;
}

bool touches_memory(const Instruction& instruction) {
  return isa<LoadInst, StoreInst, AtomicRMWInst, AtomicCmpXchgInst, MemIntrinsic>(instruction);
}

// A frame of a stack.
bool calls_a_function(const Instruction& instruction) {
  return isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction) &&
         !cast<CallBase>(instruction).isInlineAsm();
}

// Breadth first through the users of the value: the first one with a line is where the program wanted it. Of
// a value that goes back to where it came from (a sum), that is the store: the operations between them may
// have been rewritten to belong to the loop's end.
const Instruction* user_with_line(const Instruction& instruction, bool only_stores_back) {
  const auto* const load = dyn_cast<LoadInst>(&instruction);
  if (only_stores_back && load == nullptr) return nullptr;
  SmallVector<const Instruction*, kMaxSteps> reached{&instruction};
  for (unsigned at = 0; at < reached.size(); ++at) {
    for (const User* user : reached[at]->users()) {
      const auto* next = dyn_cast<Instruction>(user);
      if (!next || is_contained(reached, next)) continue;
      const auto* const store = dyn_cast<StoreInst>(next);
      const bool is_wanted =
          !only_stores_back || (store != nullptr && store->getPointerOperand() == load->getPointerOperand() &&
                                store->getValueOperand() == reached[at]);
      if (is_wanted && has_line(*next)) return next;
      if (reached.size() == kMaxSteps) return nullptr;
      reached.push_back(next);
    }
  }
  return nullptr;
}

// Has it a line of the same function, inlined at the same place? Another one's would make it part of that.
bool has_line_for(const Instruction& instruction, const Instruction& other) {
  if (!has_line(other)) return false;
  const DebugLoc& own = instruction.getDebugLoc();
  const DebugLoc& its = other.getDebugLoc();
  return !own || (own.getInlinedAt() == its.getInlinedAt() &&
                  own->getScope()->getSubprogram() == its->getScope()->getSubprogram());
}

const Instruction* neighbour_with_line(const Instruction& instruction) {
  for (const Instruction* next = &instruction; next; next = next->getNextNode())
    if (has_line_for(instruction, *next)) return next;
  for (const Instruction* previous = &instruction; previous; previous = previous->getPrevNode())
    if (has_line_for(instruction, *previous)) return previous;
  return nullptr;
}

// What both branches of an `if` did, merged, has no line, and may have its block for itself: where it was
// decided to come here is nearest then.
const Instruction* decision_with_line(const Instruction& instruction) {
  SmallVector<const BasicBlock*, kMaxSteps> reached{instruction.getParent()};
  for (unsigned at = 0; at < reached.size(); ++at) {
    for (const BasicBlock* before : predecessors(reached[at])) {
      if (is_contained(reached, before)) continue;
      for (const Instruction& last : reverse(*before))
        if (has_line_for(instruction, last)) return &last;
      if (reached.size() == kMaxSteps) return nullptr;
      reached.push_back(before);
    }
  }
  return nullptr;
}

// The vectoriser stores a sum behind its loop, at the line where the loop begins. What is summed up knows the
// statement.
const Instruction* summand_with_line(const Instruction& instruction) {
  const auto* const store = dyn_cast<StoreInst>(&instruction);
  const auto* const sum = store ? dyn_cast<IntrinsicInst>(store->getValueOperand()) : nullptr;
  if (!sum || !sum->getCalledFunction()->getName().starts_with("llvm.vector.reduce.") ||
      sum->getDebugLoc() != store->getDebugLoc())
    return nullptr;
  SmallVector<const Instruction*, kMaxSteps> reached{sum};
  for (unsigned at = 0; at < reached.size(); ++at) {
    for (const Value* operand : reached[at]->operands()) {
      const auto* const next = dyn_cast<Instruction>(operand);
      if (!next || is_contained(reached, next)) continue;
      if (has_line(*next) && next->getDebugLoc() != sum->getDebugLoc()) return next;
      if (reached.size() == kMaxSteps) return nullptr;
      reached.push_back(next);
    }
  }
  return nullptr;
}

}  // namespace

void restore_source_lines(Function& function) {
  if (!function.getSubprogram()) return;
  for (Instruction& instruction : instructions(function)) {
    if (const Instruction* const summand = summand_with_line(instruction))
      instruction.setDebugLoc(summand->getDebugLoc());
    const bool is_call = calls_a_function(instruction);
    if ((!is_call && !touches_memory(instruction)) || has_line(instruction)) continue;
    const Instruction* with_line = nullptr;
    if (!is_call) {
      with_line = user_with_line(instruction, /*only_stores_back=*/true);
      if (!with_line) with_line = user_with_line(instruction, /*only_stores_back=*/false);
    }
    if (!with_line) with_line = neighbour_with_line(instruction);
    if (!with_line) with_line = decision_with_line(instruction);
    if (with_line) instruction.setDebugLoc(with_line->getDebugLoc());
  }
}

}  // namespace deadheat::instrument
