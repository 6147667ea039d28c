// The pass's own words: an access is what the program does; a check is what will be asked about it.
#pragma once

#include <llvm/IR/Instruction.h>
#include <llvm/Support/Alignment.h>

#include <cstdint>
#include <vector>

namespace deadheat::instrument {

enum class AccessKind : uint8_t { kRead, kWrite };

// A check of kind `by` covers an access of kind `kind`: whatever races with the access races with the checked
// one.
inline bool covers(AccessKind by, AccessKind kind) {
  return by == AccessKind::kWrite || kind == AccessKind::kRead;
}

struct Access {
  llvm::Instruction* instruction;
  llvm::Value* address;
  uint64_t size;  // bytes; 0 if only known at run time (then `dynamic_size`)
  llvm::Align alignment;
  AccessKind kind;
  llvm::Value* stored = nullptr;        // what a plain store stores
  llvm::Value* dynamic_size = nullptr;  // memory intrinsics of unknown length
  bool live = true;                     // still needs a check at `instruction`
  llvm::Value* stored_next = nullptr;   // of two neighbouring stores of eight bytes, what the second stores
};

// What a synchronisation-free-function analysis says about one instruction.
struct Effects {
  bool acquires = false;          // what other threads released may be ordered before what follows
  bool releases = false;          // what came before may be ordered before what other threads do later
  bool forgets = false;           // the shadow of some memory is cleared: a variable's life ends or begins
  bool may_not_continue = false;  // may throw, exit or loop for ever

  bool none() const { return !acquires && !releases && !forgets && !may_not_continue; }
};

// The accesses of one function in program order of each block, blocks in function order. Optimisations only
// take `live` away; nothing is emitted before all of them have had their say.
using AccessList = std::vector<Access>;

}  // namespace deadheat::instrument
