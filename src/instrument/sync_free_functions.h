// What an instruction may do to the order between threads; and which calls do nothing to it.
//
// Every optimisation asks one question of the code between two points: may it acquire, release, or not
// continue? A call to an unknown function may do all three. A call to a function known to be free of
// synchronisation does not: then a check before the call still covers an access after it.
//
// A function is free of synchronisation if
//   - it carries LLVM's `nosync` (inferred or declared), or
//   - it is one of the C library's functions in the table (sync_free_table in the .cc): string, character,
//   number and
//     mathematical functions, which read and write their arguments and nothing else. Not there: anything that
//     allocates, locks a stream, calls back, or is commonly replaced by the user; or
//   - its body is in this module and cannot be replaced by one of another source at link time (inline
//   functions and
//     templates can only be replaced by their like), and holds no atomic stronger
//   than relaxed,
//     no inline assembly that touches memory, and only calls to such functions: the greatest fixed point over
//     the module's call graph, so recursion is no obstacle.
//
// Relaxed atomics neither acquire nor release: in a fence/relaxed pair it is the fence that does.
//
// REQUIRES: computed before the module is instrumented.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

#include "instrument/access.h"

namespace deadheat::instrument {

class SyncFreeFunctions {
 public:
  // With `analyse` false every call to anything but an intrinsic is a barrier.
  SyncFreeFunctions(const llvm::Module& module, bool analyse);

  bool is_sync_free(const llvm::CallBase& call) const;
  // `forgets` is left to the caller, who knows which variables are tracked.
  Effects effects_of(const llvm::Instruction& instruction) const;

  size_t defined_count() const { return sync_free_.size(); }

 private:
  bool has_sync_free_body(const llvm::Function& function) const;

  bool analyse_;
  llvm::DenseSet<const llvm::Function*> sync_free_;
};

}  // namespace deadheat::instrument
