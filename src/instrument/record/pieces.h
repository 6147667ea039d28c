// Values as words: how a value of any type is cut into pieces of at most 8 bytes, and put together again.
//
// Hooks take 64-bit words. A load of 16 bytes is two pieces, 8 bytes apart; a structure is the pieces of its
// fields, at their offsets, so that padding is never logged; an x86 long double is 8 and 2 bytes.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace deadheat::instrument::record {

struct Piece {
  uint64_t offset;  // from the value's first byte, as in memory
  uint32_t size;    // 1 to 8 bytes
};

// Empty for void and empty structures.
llvm::SmallVector<Piece, 4> pieces_of(llvm::Type* type, const llvm::DataLayout& layout);

// The pieces of `value`, each zero-extended to i64, in the order of pieces_of.
llvm::SmallVector<llvm::Value*, 4> to_words(llvm::IRBuilderBase& builder, llvm::Value* value);

// A vector of at least two whole words as one of i64; null for any other value.
llvm::Value* as_word_vector(llvm::IRBuilderBase& builder, llvm::Value* value);

// The value whose pieces are `words`.
llvm::Value* from_words(llvm::IRBuilderBase& builder, llvm::Type* type, llvm::ArrayRef<llvm::Value*> words);

}  // namespace deadheat::instrument::record
