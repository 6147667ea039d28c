#include "instrument/prefetches.h"

#include <llvm/IR/IntrinsicInst.h>

namespace deadheat::instrument {

using namespace llvm;

void follow_prefetches(Function& function, Hooks& hooks) {
  SmallVector<IntrinsicInst*, 8> prefetches;
  for (BasicBlock& block : function) {
    for (Instruction& instruction : block) {
      auto* const call = dyn_cast<IntrinsicInst>(&instruction);
      if (call == nullptr || call->getIntrinsicID() != Intrinsic::prefetch) continue;
      if (call->getArgOperand(0)->getType()->getPointerAddressSpace() != 0) continue;
      const bool is_of_data = cast<ConstantInt>(call->getArgOperand(3))->isOne();
      if (is_of_data) prefetches.push_back(call);
    }
  }
  for (IntrinsicInst* const prefetch : prefetches) {
    IRBuilder<> builder(prefetch);
    builder.SetCurrentDebugLocation(location_of(*prefetch));
    hooks.call(builder, "__dh_prefetch", {prefetch->getArgOperand(0)});
  }
}

}  // namespace deadheat::instrument
