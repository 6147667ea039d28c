// The x86 intrinsics that take a pointer: which memory they touch.
//
// Clang makes most vector intrinsics of the headers into plain or generic masked loads and stores. What is
// left has an intrinsic of its own: masked moves whose mask is the sign of each lane, gathers and scatters of
// a base and indices, and instructions that store or load a fixed area.
//
// Left out: what touches no memory as far as the language can tell (flushes, prefetches, monitors), the tiles
// of AMX, whose shapes are the processor's state, and of the areas of `xsave` and its like all parts but
// those that the instruction touches on every processor.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include <optional>

#include "instrument/access.h"

namespace deadheat::instrument {

// One access of `size` bytes, `offset` bytes behind an operand. With `component` it is made only if that bit
// of the last operand is set.
struct X86Area {
  unsigned operand;
  uint64_t offset;
  uint64_t size;
  AccessKind kind;
  std::optional<unsigned> component = {};
};
// None if the intrinsic is not of that kind.
llvm::SmallVector<X86Area, 4> x86_areas(const llvm::IntrinsicInst& call);

// A vector access of which each lane is one of its own, if its bit of the mask is set.
struct LaneAccess {
  AccessKind kind;
  llvm::Value* address;           // of the first lane, or a vector: of each
  llvm::Value* mask;              // a vector of i1
  llvm::Value* stored = nullptr;  // a vector, if the values are at hand
  unsigned lanes;
  uint64_t element;  // bytes
  llvm::Align alignment = llvm::Align(1);
};
bool is_x86_lane_access(const llvm::IntrinsicInst& call);
// REQUIRES: is_x86_lane_access. Mask and addresses are computed at the builder's place.
LaneAccess x86_lane_access(llvm::IRBuilderBase& builder, const llvm::IntrinsicInst& call);

}  // namespace deadheat::instrument
