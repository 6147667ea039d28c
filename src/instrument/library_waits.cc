#include "instrument/library_waits.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace deadheat::instrument {

using namespace llvm;

namespace {
constexpr const char* kMark = "deadheat.wait";
}  // namespace

void mark_library_waits(Function& function) {
  // Members of std::__detail's classes of these names, whose operations are of the pool or of the atomic that
  // is waited for; what the caller does with that, by an order of its own, is in functions of the caller's.
  static constexpr StringLiteral kWaiting[] = {"18__waiter_pool_base", "13__waiter_pool", "13__waiter_base",
                                               "8__waiterI"};
  StringRef name = function.getName();
  if (!name.consume_front("_ZNSt8__detail") && !name.consume_front("_ZNKSt8__detail")) return;
  if (!any_of(kWaiting, [name](StringRef one) { return name.starts_with(one); })) return;
  MDNode* const mark = MDNode::get(function.getContext(), {});
  for (Instruction& instruction : instructions(function)) {
    if (instruction.isAtomic()) instruction.setMetadata(kMark, mark);
  }
}

bool is_of_library_wait(const Instruction& instruction) { return instruction.hasMetadata(kMark); }

}  // namespace deadheat::instrument
