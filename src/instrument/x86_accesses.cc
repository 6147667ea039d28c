#include "instrument/x86_accesses.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <array>

namespace deadheat::instrument {

using namespace llvm;

namespace {

// What FXSAVE writes: the state of the x87 unit, MXCSR and its mask, the registers of both. Behind them is
// what the processor reserves or leaves to the program. XSAVE writes the parts of the components asked for.
constexpr uint64_t kMxcsr = 24;
constexpr uint64_t kX87Registers = 32;
constexpr uint64_t kSseRegisters = 160;
constexpr uint64_t kLegacyEnd = 416;
constexpr unsigned kX87Component = 0;
constexpr unsigned kSseComponent = 1;
// The header of XSAVE's area: which components are there, and whether the rest is compact.
constexpr uint64_t kHeader = 512;
constexpr uint64_t kHeaderState = 8;
constexpr uint64_t kHeaderStateAndForm = 16;

// Which operand is what is the same in a whole family.
enum class MaskForm : uint8_t {
  kSigns,  // of the lanes of a vector
  kBits    // of an integer, or a vector of i1
};
struct Family {
  StringLiteral prefix;  // of the name behind "llvm.x86."
  AccessKind kind;
  unsigned address;
  unsigned mask;
  MaskForm form;
  int index = -1;            // the scale is the last operand then
  int value = -1;            // of writes
  bool is_narrowed = false;  // what is stored of each lane is shorter than the lane
};
constexpr AccessKind kRead = AccessKind::kRead;
constexpr AccessKind kWrite = AccessKind::kWrite;
constexpr std::array kFamilies = {
    Family{"avx.maskload.", kRead, 0, 1, MaskForm::kSigns},
    Family{"avx2.maskload.", kRead, 0, 1, MaskForm::kSigns},
    Family{"avx.maskstore.", kWrite, 0, 1, MaskForm::kSigns, -1, 2},
    Family{"avx2.maskstore.", kWrite, 0, 1, MaskForm::kSigns, -1, 2},
    Family{"sse2.maskmov.dqu", kWrite, 2, 1, MaskForm::kSigns, -1, 0},
    Family{"mmx.maskmovq", kWrite, 2, 1, MaskForm::kSigns, -1, 0},
    Family{"avx512.mask.pmov.", kWrite, 0, 2, MaskForm::kBits, -1, 1, true},
    Family{"avx512.mask.pmovs.", kWrite, 0, 2, MaskForm::kBits, -1, 1, true},
    Family{"avx512.mask.pmovus.", kWrite, 0, 2, MaskForm::kBits, -1, 1, true},
    Family{"avx2.gather.", kRead, 1, 3, MaskForm::kSigns, 2},
    Family{"avx512.gather.", kRead, 1, 3, MaskForm::kBits, 2},
    Family{"avx512.gather3", kRead, 1, 3, MaskForm::kBits, 2},
    Family{"avx512.mask.gather", kRead, 1, 3, MaskForm::kBits, 2},
    Family{"avx512.scatter.", kWrite, 0, 1, MaskForm::kBits, 2, 3},
    Family{"avx512.scatterdiv", kWrite, 0, 1, MaskForm::kBits, 2, 3},
    Family{"avx512.scattersiv", kWrite, 0, 1, MaskForm::kBits, 2, 3},
    Family{"avx512.mask.scatter", kWrite, 0, 1, MaskForm::kBits, 2, 3},
};

const Family* family_of(const IntrinsicInst& call) {
  StringRef name = call.getCalledFunction()->getName();
  if (!name.consume_front("llvm.x86.")) return nullptr;
  const auto* const found = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& family) {
    return name.starts_with(family.prefix);
  });
  if (found == kFamilies.end()) return nullptr;
  // Narrowing has forms that touch no memory: avx512.mask.pmov.db.512 and avx512.mask.pmov.db.mem.512.
  return found->is_narrowed && !name.contains(".mem.") ? nullptr : found;
}

// Of avx512.mask.pmov.db.mem.512: from double words to bytes.
uint64_t narrowed_size(const IntrinsicInst& call) {
  const StringRef name = call.getCalledFunction()->getName();
  switch (name[name.find(".mem.") - 1]) {
    case 'b':
      return 1;
    case 'w':
      return 2;
    default:
      return 4;
  }
}

unsigned lanes_of(const Value* vector) { return cast<FixedVectorType>(vector->getType())->getNumElements(); }

// MMX's registers have a type of their own; what is masked in them are bytes.
Value* as_vector(IRBuilderBase& builder, Value* value) {
  if (!value || !value->getType()->isX86_MMXTy()) return value;
  return builder.CreateBitCast(value, FixedVectorType::get(builder.getInt8Ty(), 8));
}

Value* mask_of(IRBuilderBase& builder, Value* mask, MaskForm form) {
  if (form == MaskForm::kSigns) {
    Type* const signs = VectorType::getInteger(cast<VectorType>(mask->getType()));
    return builder.CreateIsNeg(builder.CreateBitCast(mask, signs));
  }
  if (mask->getType()->isVectorTy()) return mask;
  if (const auto* known = dyn_cast<ConstantInt>(mask)) {
    SmallVector<Constant*, 16> lanes;
    for (unsigned i = 0; i < known->getBitWidth(); ++i)
      lanes.push_back(builder.getInt1(known->getValue()[i]));
    return ConstantVector::get(lanes);
  }
  Type* const bits = FixedVectorType::get(builder.getInt1Ty(), mask->getType()->getIntegerBitWidth());
  return builder.CreateBitCast(mask, bits);
}

// Base and index wrap around as the processor's addition does: the base may be null.
Value* addresses_of(IRBuilderBase& builder, Value* base, Value* index, const Value* scale) {
  Type* const wide = FixedVectorType::get(builder.getInt64Ty(), lanes_of(index));
  Value* const factor = ConstantInt::get(wide, cast<ConstantInt>(scale)->getZExtValue());
  Value* const offset = builder.CreateMul(builder.CreateSExt(index, wide), factor);
  return builder.CreateGEP(builder.getInt8Ty(), base, offset);
}

}  // namespace

SmallVector<X86Area, 4> x86_areas(const IntrinsicInst& call) {
  switch (call.getIntrinsicID()) {
    case Intrinsic::x86_sse3_ldu_dq:
      return {{0, 0, 16, kRead}};
    case Intrinsic::x86_avx_ldu_dq_256:
      return {{0, 0, 32, kRead}};
    case Intrinsic::x86_sse_ldmxcsr:
      return {{0, 0, 4, kRead}};
    case Intrinsic::x86_sse_stmxcsr:
      return {{0, 0, 4, kWrite}};
    case Intrinsic::x86_mmx_movnt_dq:
    case Intrinsic::x86_directstore64:
      return {{0, 0, 8, kWrite}};
    case Intrinsic::x86_directstore32:
      return {{0, 0, 4, kWrite}};
    case Intrinsic::x86_movdir64b:
      return {{1, 0, 64, kRead}, {0, 0, 64, kWrite}};
    case Intrinsic::x86_ldtilecfg:
      return {{0, 0, 64, kRead}};
    case Intrinsic::x86_sttilecfg:
      return {{0, 0, 64, kWrite}};
    case Intrinsic::x86_fxsave:
    case Intrinsic::x86_fxsave64:
      return {{0, 0, kLegacyEnd, kWrite}};
    case Intrinsic::x86_fxrstor:
    case Intrinsic::x86_fxrstor64:
      return {{0, 0, kLegacyEnd, kRead}};
    case Intrinsic::x86_xsave:
    case Intrinsic::x86_xsave64:
      return {{0, 0, kMxcsr, kWrite, kX87Component},
              {0, kX87Registers, kSseRegisters - kX87Registers, kWrite, kX87Component},
              {0, kMxcsr, kX87Registers - kMxcsr, kWrite, kSseComponent},
              {0, kSseRegisters, kLegacyEnd - kSseRegisters, kWrite, kSseComponent},
              {0, kHeader, kHeaderState, kWrite}};
    // These may leave out components that are in their first state, or were not changed.
    case Intrinsic::x86_xsaveopt:
    case Intrinsic::x86_xsaveopt64:
      return {{0, kHeader, kHeaderState, kWrite}};
    case Intrinsic::x86_xsavec:
    case Intrinsic::x86_xsavec64:
    case Intrinsic::x86_xsaves:
    case Intrinsic::x86_xsaves64:
      return {{0, kHeader, kHeaderStateAndForm, kWrite}};
    case Intrinsic::x86_xrstor:
    case Intrinsic::x86_xrstor64:
    case Intrinsic::x86_xrstors:
    case Intrinsic::x86_xrstors64:
      return {{0, kHeader, kHeaderStateAndForm, kRead}};
    default:
      return {};
  }
}

bool is_x86_lane_access(const IntrinsicInst& call) { return family_of(call) != nullptr; }

LaneAccess x86_lane_access(IRBuilderBase& builder, const IntrinsicInst& call) {
  const Family& family = *family_of(call);
  const auto operand = [&](int i) { return i < 0 ? nullptr : call.getArgOperand(static_cast<unsigned>(i)); };
  Value* const index = operand(family.index);
  LaneAccess access{};
  access.kind = family.kind;
  access.stored = as_vector(builder, operand(family.value));
  access.address = call.getArgOperand(family.address);
  access.mask = mask_of(builder, as_vector(builder, call.getArgOperand(family.mask)), family.form);
  auto* const type = cast<FixedVectorType>(access.stored ? access.stored->getType() : call.getType());
  access.element = call.getDataLayout().getTypeStoreSize(type->getElementType()).getFixedValue();
  access.lanes = type->getNumElements();
  if (family.is_narrowed) {
    // Saturated or cut: the values are not at hand.
    access.element = narrowed_size(call);
    access.stored = nullptr;
  }
  if (index) {
    // Two wide indices gather two narrow lanes, although the vector has room for four; and the other way.
    access.lanes = std::min(access.lanes, lanes_of(index));
    access.address = addresses_of(builder, access.address, index, call.getArgOperand(call.arg_size() - 1));
  }
  return access;
}

}  // namespace deadheat::instrument
