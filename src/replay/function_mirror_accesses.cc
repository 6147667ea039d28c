// Loads, stores, copies and fills in mirrored code.
//
// Words of up to 8 bytes are hooks (hook_bodies.h). Values of several words, vectors mostly, are one access
// of the image where they can be: it is as contiguous as memory, but for its end, and the log says for all
// words at once that they were predicted. Otherwise they are split into words, as in the recorded program.
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "instrument/record/pieces.h"
#include "replay/abi.h"
#include "replay/function_mirror.h"

namespace deadheat::replay {

using namespace llvm;
using instrument::record::from_words;
using instrument::record::Piece;
using instrument::record::pieces_of;
using instrument::record::to_words;

namespace {

// What is aligned is one value for any predictor, what is not may be two for a tagged one; pieces of odd
// sizes are given theirs.
struct AccessHook {
  std::string name;
  bool takes_size;
};

AccessHook hook_of(const char* kind, const Piece& piece, Align align) {
  std::string name = std::string("__dh_rep_") + kind;
  if (!isPowerOf2_32(piece.size)) return {name + "_any", true};
  const bool is_aligned = commonAlignment(align, piece.offset).value() >= piece.size;
  return {name + (is_aligned ? "" : "_any") + std::to_string(piece.size), false};
}

Value* address_of(IRBuilder<>& builder, Value* base, uint64_t offset) {
  return offset == 0 ? base : builder.CreateAdd(base, builder.getInt64(offset));
}

// Several whole words in a row.
bool is_of_words(Type* type, const SmallVector<Piece, 4>& pieces) {
  if (pieces.size() < 2 || type->isAggregateType()) return false;
  for (const Piece& piece : pieces)
    if (piece.size != 8) return false;
  return true;
}

MDNode* likely(LLVMContext& context) { return MDBuilder(context).createBranchWeights(1 << 20, 1); }

}  // namespace

bool FunctionMirror::is_wide(Type* type, const SmallVector<Piece, 4>& pieces) const {
  return is_bare(variant_) && predictor_ == Predictor::kPlain && is_of_words(type, pieces);
}

void FunctionMirror::mirror_load(LoadInst& load, Value* site) {
  IRBuilder<> builder(&load);
  Value* const base = as_word(builder, load.getPointerOperand());
  const SmallVector<Piece, 4> pieces = pieces_of(load.getType(), module_.getDataLayout());
  Value* const result = is_wide(load.getType(), pieces) ? wide_load(builder, load, base, pieces, site)
                                                        : word_loads(builder, load, base, pieces, site);
  load.replaceAllUsesWith(result);
  load.eraseFromParent();
}

Value* FunctionMirror::word_loads(IRBuilder<>& builder, LoadInst& load, Value* base, ArrayRef<Piece> pieces,
                                  Value* site) {
  SmallVector<Value*, 4> words;
  for (const Piece& piece : pieces) {
    Value* const address = address_of(builder, base, piece.offset);
    const AccessHook hook = hook_of("load", piece, load.getAlign());
    words.push_back(hook.takes_size ? hooks_.call(builder, hook.name, builder.getInt64Ty(),
                                                  {thread_, address, builder.getInt32(piece.size), site})
                                    : value_hook(builder, hook.name, {address, site}, builder.getInt64Ty()));
  }
  return from_words(builder, load.getType(), words);
}

Value* FunctionMirror::image_at(IRBuilder<>& builder, Value* offset) {
  return builder.CreateInBoundsGEP(
      builder.getInt8Ty(), thread_,
      builder.CreateAdd(offset, builder.getInt64(offsetof(DhReplay, image)), "", true, true));
}

Value* FunctionMirror::wide_load(IRBuilder<>& builder, LoadInst& load, Value* base, ArrayRef<Piece> pieces,
                                 Value* site) {
  const uint64_t bytes = 8 * pieces.size();
  Value* const offset = builder.CreateAnd(base, builder.getInt64(kDhImageMask));
  Value* const run = builder.CreateLoad(builder.getInt64Ty(), copies_[1]);
  Value* const left = builder.CreateSub(run, builder.getInt64(pieces.size()));
  Value* enough = left;
  if (load.getAlign().value() < PowerOf2Ceil(bytes)) {
    // Neither is negative.
    Value* const room = builder.CreateSub(builder.getInt64(kDhImageBytes - bytes), offset);
    enough = builder.CreateOr(left, room);
  }
  Value* const is_plain = builder.CreateICmpSGE(enough, builder.getInt64(0));
  Instruction* fast = nullptr;
  Instruction* slow = nullptr;
  SplitBlockAndInsertIfThenElse(is_plain, load.getIterator(), &fast, &slow, likely(context_));
  builder.SetInsertPoint(fast);
  builder.CreateStore(left, copies_[1]);
  Value* const seen = builder.CreateAlignedLoad(load.getType(), image_at(builder, offset),
                                                std::min(load.getAlign(), Align(16)));
  builder.SetInsertPoint(slow);
  SmallVector<Value*, 4> words;
  for (const Piece& piece : pieces)
    words.push_back(
        hooks_.call(builder, "__dh_rep_load_any", builder.getInt64Ty(),
                    {thread_, address_of(builder, base, piece.offset), builder.getInt32(8), site}));
  Value* const joined = from_words(builder, load.getType(), words);
  builder.SetInsertPoint(&load);
  PHINode* const result = builder.CreatePHI(load.getType(), 2);
  result->addIncoming(seen, fast->getParent());
  result->addIncoming(joined, slow->getParent());
  return result;
}

void FunctionMirror::mirror_store(StoreInst& store, Value* site, bool is_vtable) {
  IRBuilder<> builder(&store);
  Type* const type = store.getValueOperand()->getType();
  Value* const base = as_word(builder, store.getPointerOperand());
  const SmallVector<Piece, 4> pieces = pieces_of(type, module_.getDataLayout());
  const SmallVector<Value*, 4> words = to_words(builder, store.getValueOperand());
  if (is_wide(type, pieces)) {
    wide_store(builder, store, base, words, site);
    store.eraseFromParent();
    return;
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    Value* const address = address_of(builder, base, pieces[i].offset);
    const AccessHook hook = hook_of("store", pieces[i], store.getAlign());
    if (hook.takes_size)
      hooks_.call(builder, hook.name, {thread_, address, words[i], builder.getInt32(pieces[i].size), site});
    else
      value_hook(builder,
                 is_vtable && hook.name == "__dh_rep_store8" ? std::string("__dh_rep_store_vptr") : hook.name,
                 {address, words[i], site});
  }
  store.eraseFromParent();
}

void FunctionMirror::wide_store(IRBuilder<>& builder, StoreInst& store, Value* base, ArrayRef<Value*> words,
                                Value* site) {
  const uint64_t bytes = 8 * words.size();
  Value* const offset = builder.CreateAnd(base, builder.getInt64(kDhImageMask));
  const auto write = [&] {
    builder.CreateAlignedStore(store.getValueOperand(), image_at(builder, offset),
                               std::min(store.getAlign(), Align(16)));
    size_t i = 0;
    for (; i + 1 < words.size(); i += 2)
      value_hook(builder, "__dh_rep_mix2", {address_of(builder, base, 8 * i), words[i], words[i + 1]});
    if (i < words.size()) value_hook(builder, "__dh_rep_mix", {address_of(builder, base, 8 * i), words[i]});
  };
  if (store.getAlign().value() >= PowerOf2Ceil(bytes)) return write();
  Value* const is_plain = builder.CreateICmpULE(offset, builder.getInt64(kDhImageBytes - bytes));
  Instruction* fast = nullptr;
  Instruction* slow = nullptr;
  SplitBlockAndInsertIfThenElse(is_plain, store.getIterator(), &fast, &slow, likely(context_));
  builder.SetInsertPoint(fast);
  write();
  builder.SetInsertPoint(slow);
  for (size_t i = 0; i < words.size(); ++i)
    hooks_.call(builder, "__dh_rep_store_any",
                {thread_, address_of(builder, base, 8 * i), words[i], builder.getInt32(8), site});
  builder.SetInsertPoint(&store);
}

void FunctionMirror::mirror_memory(MemIntrinsic& intrinsic, Value* site) {
  IRBuilder<> builder(&intrinsic);
  Value* const size = builder.CreateZExtOrTrunc(intrinsic.getLength(), builder.getInt64Ty());
  Value* const to = as_word(builder, intrinsic.getRawDest());
  if (auto* copy = dyn_cast<MemTransferInst>(&intrinsic)) {
    hooks_.call(builder, "__dh_rep_copy",
                {thread_, to, as_word(builder, copy->getRawSource()), size,
                 builder.getInt32(isa<MemMoveInst>(copy) ? 1 : 0), site});
  } else {
    Value* const byte = builder.CreateZExt(cast<MemSetInst>(intrinsic).getValue(), builder.getInt32Ty());
    hooks_.call(builder, "__dh_rep_fill", {thread_, to, byte, size, site});
  }
  intrinsic.eraseFromParent();
}

}  // namespace deadheat::replay
