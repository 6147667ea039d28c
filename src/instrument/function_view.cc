#include "instrument/function_view.h"

#include <llvm/IR/IntrinsicInst.h>

#include "instrument/hooks.h"

namespace deadheat::instrument {

using namespace llvm;

FunctionView::FunctionView(Function& function, AccessList& accesses, const SyncFreeFunctions& sync_free,
                           EscapeAnalysis& escapes)
    : function_(function), accesses_(accesses), sync_free_(sync_free), escapes_(escapes) {
  for (size_t i = 0; i < accesses.size();) {
    size_t end = i + 1;
    while (end < accesses.size() && accesses[end].instruction == accesses[i].instruction) ++end;
    ranges_[accesses[i].instruction] = {i, end - i};
    i = end;
  }
}

std::span<Access> FunctionView::accesses_of(const Instruction& instruction) const {
  const auto found = ranges_.find(&instruction);
  if (found == ranges_.end()) return {};
  return std::span(accesses_).subspan(found->second.first, found->second.second);
}

Effects FunctionView::effects_of(const Instruction& instruction) const {
  Effects effects = sync_free_.effects_of(instruction);
  if (const auto* call = dyn_cast<IntrinsicInst>(&instruction)) {
    switch (call->getIntrinsicID()) {
      case Intrinsic::lifetime_start:
      case Intrinsic::lifetime_end: {
        const auto* variable = dyn_cast<AllocaInst>(getUnderlyingObject(call->getArgOperand(1)));
        effects.forgets = !variable || escapes_.escapes(*variable);
        break;
      }
      case Intrinsic::stackrestore:
        effects.forgets = true;
        break;
      default:
        break;
    }
  }
  return effects;
}

Bytes FunctionView::bytes_of(const Access& access) const {
  const DataLayout& layout = function_.getParent()->getDataLayout();
  APInt offset(layout.getIndexTypeSizeInBits(access.address->getType()), 0);
  const Value* base =
      access.address->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
  return {base, offset.getSExtValue(), access.size};
}

namespace {
// `is_same` compares what a report says of two locations within one function.
template <class IsSame>
bool is_same_at_every_level(const Instruction& a, const Instruction& b, IsSame is_same) {
  const DILocation* first = location_of(a);
  const DILocation* second = location_of(b);
  // Two calls on one line of a function that is inlined are two places of which a report says the same.
  for (; first && second && first != second; first = first->getInlinedAt(), second = second->getInlinedAt()) {
    if (!is_same(*first, *second) ||
        first->getScope()->getSubprogram() != second->getScope()->getSubprogram())
      return false;
  }
  return first == second;
}
}  // namespace

bool FunctionView::is_same_line(const Instruction& a, const Instruction& b) {
  return is_same_at_every_level(
      a, b, [](const DILocation& x, const DILocation& y) { return x.getLine() == y.getLine(); });
}

bool FunctionView::is_same_place(const Instruction& a, const Instruction& b) {
  return is_same_at_every_level(a, b, [](const DILocation& x, const DILocation& y) {
    return x.getLine() == y.getLine() && x.getColumn() == y.getColumn();
  });
}

}  // namespace deadheat::instrument
