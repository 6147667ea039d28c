// One function as the optimisations see it: its accesses by instruction, and what each instruction does to
// the order between threads.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>

#include <span>

#include "instrument/access.h"
#include "instrument/escape_analysis.h"
#include "instrument/sync_free_functions.h"

namespace deadheat::instrument {

// Bytes [offset, offset + size) from `base`: the same base and overlapping bytes are the same memory.
// Addresses are compared as values of the program (the optimiser has made equal computations one value by
// now), constant offsets taken apart.
struct Bytes {
  const llvm::Value* base;
  int64_t offset;
  uint64_t size;

  int64_t end() const { return offset + static_cast<int64_t>(size); }
  bool includes(const Bytes& other) const {
    return base == other.base && offset <= other.offset && other.end() <= end();
  }
};

class FunctionView {
 public:
  FunctionView(llvm::Function& function, AccessList& accesses, const SyncFreeFunctions& sync_free,
               EscapeAnalysis& escapes);

  llvm::Function& function() const { return function_; }
  AccessList& accesses() const { return accesses_; }
  // The accesses that `instruction` makes.
  std::span<Access> accesses_of(const llvm::Instruction& instruction) const;
  // What happens at `instruction`, its own accesses apart.
  Effects effects_of(const llvm::Instruction& instruction) const;
  // REQUIRES: the size is known.
  Bytes bytes_of(const Access& access) const;

  // Both on the same source line. Without lines, everything is.
  static bool is_same_line(const llvm::Instruction& a, const llvm::Instruction& b);
  // Both at the same line and column.
  static bool is_same_place(const llvm::Instruction& a, const llvm::Instruction& b);

 private:
  llvm::Function& function_;
  AccessList& accesses_;
  const SyncFreeFunctions& sync_free_;
  EscapeAnalysis& escapes_;
  llvm::DenseMap<const llvm::Instruction*, std::pair<size_t, size_t>> ranges_;
};

}  // namespace deadheat::instrument
