// Plain accesses: finding them, and calling their hooks.
//
// What counts as an access: loads and stores that are not atomic (volatile ones are plain), the two sides of
// memory intrinsics, the copy that passes an argument by value, the lanes of masked vector loads and stores
// whose mask says so, and what x86's own intrinsics touch (x86_accesses.h).
#pragma once

#include "instrument/access.h"
#include "instrument/escape_analysis.h"
#include "instrument/hooks.h"
#include "instrument/statistics.h"
#include "instrument/x86_accesses.h"

namespace deadheat::instrument {

// A masked, gathered or scattered vector access: each lane is an access of its own, if its mask bit is set.
bool is_masked_access(const llvm::Instruction& instruction);

class AccessInstrumenter {
 public:
  // Up to here the code generator expands copies and fills in place, and a check beside them is cheaper than
  // a call. Longer ones become calls anyway: then of the hook, which checks and copies in one go.
  static constexpr uint64_t kMaxInPlace = 128;

  AccessInstrumenter(Hooks& hooks, Statistics& statistics) : hooks_(hooks), statistics_(statistics) {}

  // All accesses of the function that may be shared.
  AccessList collect(llvm::Function& function, EscapeAnalysis& escapes, bool skip_private);

  // Emits the checks of all live accesses; replaces memory intrinsics by their hooks where both sides need a
  // check.
  void emit(AccessList& accesses);

  // One check of `size` bytes before `builder`'s place, split into what hooks exist for. With `stored_next`
  // it is for two stores of eight bytes.
  void emit_check(llvm::IRBuilderBase& builder, AccessKind kind, llvm::Value* address, uint64_t size,
                  llvm::Align alignment, llvm::Value* stored, llvm::Value* stored_next = nullptr);
  // The same of `access`, at its line. REQUIRES: the size is known.
  void emit_check(llvm::IRBuilderBase& builder, const Access& access);

 private:
  void emit_one(const Access& access);
  bool emit_memory_intrinsic(llvm::ArrayRef<Access*> sides);
  void emit_masked(llvm::Instruction& instruction);
  void emit_packed(llvm::IntrinsicInst& call);
  void emit_lanes(llvm::IntrinsicInst& call, const LaneAccess& access);

  Hooks& hooks_;
  Statistics& statistics_;
  llvm::SmallVector<llvm::Instruction*, 4> masked_;
};

}  // namespace deadheat::instrument
