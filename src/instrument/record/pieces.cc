#include "instrument/record/pieces.h"

namespace deadheat::instrument::record {

using namespace llvm;

namespace {

uint64_t element_count(const Type* type) {
  if (const auto* structure = dyn_cast<StructType>(type)) return structure->getNumElements();
  return cast<ArrayType>(type)->getNumElements();
}

Type* element_type(Type* type, unsigned index) {
  if (auto* structure = dyn_cast<StructType>(type)) return structure->getElementType(index);
  return cast<ArrayType>(type)->getElementType();
}

uint64_t element_offset(Type* type, unsigned index, const DataLayout& layout) {
  if (auto* structure = dyn_cast<StructType>(type))
    return layout.getStructLayout(structure)->getElementOffset(index);
  return index * layout.getTypeAllocSize(cast<ArrayType>(type)->getElementType());
}

void append(Type* type, uint64_t offset, const DataLayout& layout, SmallVector<Piece, 4>& pieces) {
  if (type->isVoidTy() || type->isTokenTy() || type->isMetadataTy()) return;
  if (type->isAggregateType()) {
    for (unsigned i = 0; i < element_count(type); ++i)
      append(element_type(type, i), offset + element_offset(type, i, layout), layout, pieces);
    return;
  }
  const uint64_t bytes = (layout.getTypeSizeInBits(type).getFixedValue() + 7) / 8;
  for (uint64_t at = 0; at < bytes; at += 8)
    pieces.push_back({offset + at, static_cast<uint32_t>(std::min<uint64_t>(8, bytes - at))});
}

// `type` as one integer of whole bytes.
IntegerType* as_integer(Type* type, const DataLayout& layout) {
  const uint64_t bits = layout.getTypeSizeInBits(type).getFixedValue();
  return IntegerType::get(type->getContext(), static_cast<unsigned>((bits + 7) / 8 * 8));
}

}  // namespace

SmallVector<Piece, 4> pieces_of(Type* type, const DataLayout& layout) {
  SmallVector<Piece, 4> pieces;
  append(type, 0, layout, pieces);
  return pieces;
}

SmallVector<Value*, 4> to_words(IRBuilderBase& builder, Value* value) {
  const DataLayout& layout = builder.GetInsertBlock()->getModule()->getDataLayout();
  Type* const type = value->getType();
  SmallVector<Value*, 4> words;
  if (type->isVoidTy() || type->isTokenTy() || type->isMetadataTy()) return words;
  if (type->isAggregateType()) {
    for (unsigned i = 0; i < element_count(type); ++i)
      for (Value* word : to_words(builder, builder.CreateExtractValue(value, i))) words.push_back(word);
    return words;
  }
  if (type->isPtrOrPtrVectorTy()) value = builder.CreatePtrToInt(value, layout.getIntPtrType(type));
  const uint64_t bits = layout.getTypeSizeInBits(type).getFixedValue();
  value = builder.CreateBitCast(value, builder.getIntNTy(static_cast<unsigned>(bits)));
  IntegerType* const whole = as_integer(type, layout);
  value = builder.CreateZExt(value, whole);
  for (unsigned at = 0; at < whole->getBitWidth(); at += 64) {
    Value* const shifted = at == 0 ? value : builder.CreateLShr(value, at);
    const unsigned left = std::min(64u, whole->getBitWidth() - at);
    Value* const piece = builder.CreateTrunc(shifted, builder.getIntNTy(left));
    words.push_back(builder.CreateZExt(piece, builder.getInt64Ty()));
  }
  return words;
}

Value* as_word_vector(IRBuilderBase& builder, Value* value) {
  const DataLayout& layout = builder.GetInsertBlock()->getModule()->getDataLayout();
  Type* const type = value->getType();
  if (!type->isVectorTy()) return nullptr;
  const uint64_t bits = layout.getTypeSizeInBits(type).getFixedValue();
  if (bits % 64 != 0 || bits < 128) return nullptr;
  if (type->isPtrOrPtrVectorTy()) value = builder.CreatePtrToInt(value, layout.getIntPtrType(type));
  return builder.CreateBitCast(value,
                               FixedVectorType::get(builder.getInt64Ty(), static_cast<unsigned>(bits / 64)));
}

Value* from_words(IRBuilderBase& builder, Type* type, ArrayRef<Value*> words) {
  const DataLayout& layout = builder.GetInsertBlock()->getModule()->getDataLayout();
  if (type->isAggregateType()) {
    Value* aggregate = PoisonValue::get(type);
    for (unsigned i = 0; i < element_count(type); ++i) {
      Type* const part = element_type(type, i);
      const size_t count = pieces_of(part, layout).size();
      aggregate = builder.CreateInsertValue(aggregate, from_words(builder, part, words.take_front(count)), i);
      words = words.drop_front(count);
    }
    return aggregate;
  }
  IntegerType* const whole = as_integer(type, layout);
  Value* value = nullptr;
  for (unsigned at = 0, i = 0; at < whole->getBitWidth(); at += 64, ++i) {
    const unsigned left = std::min(64u, whole->getBitWidth() - at);
    Value* const piece = builder.CreateTrunc(words[i], builder.getIntNTy(left));
    Value* const wide = builder.CreateZExt(piece, whole);
    Value* const placed = at == 0 ? wide : builder.CreateShl(wide, at);
    value = value == nullptr ? placed : builder.CreateOr(value, placed);
  }
  const uint64_t bits = layout.getTypeSizeInBits(type).getFixedValue();
  value = builder.CreateTrunc(value, builder.getIntNTy(static_cast<unsigned>(bits)));
  if (!type->isPtrOrPtrVectorTy()) return builder.CreateBitCast(value, type);
  Type* const integers = layout.getIntPtrType(type);
  return builder.CreateIntToPtr(builder.CreateBitCast(value, integers), type);
}

}  // namespace deadheat::instrument::record
