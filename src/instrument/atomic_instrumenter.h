// Atomics: done by the runtime, so that the value and the order it makes are one step.
//
// Loads, stores, read-modify-writes and compare-exchanges of 1 to 16 bytes become calls of `__dh_atomic_*`;
// read-modify-writes the runtime has no hook for (min, max, floating point) stay as they are, between
// `__dh_atomic_begin` and `__dh_atomic_end`. Fences become hooks too; a fence of one thread with its own
// signal handlers orders nothing between threads and says so. What the front end made a call of libatomic
// (`__atomic_load_16` and the like, and the sized forms for objects too big for an instruction) is treated
// the same way: the latter stay calls, between begin and end.
#pragma once

#include <llvm/IR/Function.h>

#include "instrument/hooks.h"
#include "instrument/statistics.h"

namespace deadheat::instrument {

class AtomicInstrumenter {
 public:
  AtomicInstrumenter(Hooks& hooks, Statistics& statistics) : hooks_(hooks), statistics_(statistics) {}

  // Returns whether anything was replaced.
  bool run(llvm::Function& function);

 private:
  bool replace(llvm::Instruction& instruction);
  bool replace_load(llvm::LoadInst& load);
  bool replace_store(llvm::StoreInst& store);
  bool replace_update(llvm::AtomicRMWInst& update);
  bool replace_exchange(llvm::AtomicCmpXchgInst& exchange);
  bool replace_fence(llvm::FenceInst& fence);
  bool replace_library_call(llvm::CallBase& call);
  bool surround_library_call(llvm::CallBase& call, llvm::StringRef operation);
  // `operation`: a DhHeldOperation.
  void surround(llvm::Instruction& instruction, llvm::Value* address, unsigned operation, llvm::Value* order);

  Hooks& hooks_;
  Statistics& statistics_;
};

// Will `instruction` be replaced?
bool is_atomic(const llvm::Instruction& instruction);

}  // namespace deadheat::instrument
