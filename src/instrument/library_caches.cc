#include "instrument/library_caches.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/MDBuilder.h>

namespace deadheat::instrument {

using namespace llvm;

void mark_library_caches(Function& function) {
  // narrow(char, char), widen(char), and the same of ranges, whose own memcpy stays visible.
  static constexpr StringLiteral kCaching[] = {"_ZNKSt5ctypeIcE6narrowEcc", "_ZNKSt5ctypeIcE5widenEc",
                                               "_ZNKSt5ctypeIcE6narrowEPKcS2_cPc",
                                               "_ZNKSt5ctypeIcE5widenEPKcS2_Pc"};
  if (!is_contained(kCaching, function.getName())) return;
  LLVMContext& context = function.getContext();
  for (Instruction& instruction : instructions(function)) {
    if (isa<LoadInst>(instruction) || isa<StoreInst>(instruction))
      instruction.setMetadata(LLVMContext::MD_nosanitize, MDNode::get(context, {}));
  }
}

}  // namespace deadheat::instrument
