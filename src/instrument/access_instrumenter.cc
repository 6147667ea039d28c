#include "instrument/access_instrumenter.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace deadheat::instrument {

using namespace llvm;

namespace {

// Up to here the code generator expands copies and fills in place, and a check beside them is cheaper than a
// call. Longer ones become calls anyway: then of the hook, which checks and copies in one go.
constexpr uint64_t kMaxInPlace = 128;

const Function* intrinsic(const Instruction& instruction) {
  const auto* call = dyn_cast<IntrinsicInst>(&instruction);
  return call ? call->getCalledFunction() : nullptr;
}

bool is_ordinary_memory(const Value* address) {
  Type* type = address->getType()->getScalarType();
  // Other address spaces are segments (fs, gs), not memory that has a shadow.
  if (type->getPointerAddressSpace() != 0 || address->isSwiftError()) return false;
  if (const auto* variable = dyn_cast<GlobalVariable>(getUnderlyingObject(address, /*MaxLookup=*/0))) {
    // Counters that the compiler itself adds are not the program's.
    const StringRef name = variable->getName();
    if (name.starts_with("__llvm_gcov") || name.starts_with("__llvm_gcda") || name.starts_with("__profc_"))
      return false;
  }
  return true;
}

class Collector {
 public:
  Collector(const DataLayout& layout, EscapeAnalysis& escapes, bool skip_private, Statistics& statistics)
      : layout_(layout), escapes_(escapes), skip_private_(skip_private), statistics_(statistics) {}

  void visit(Instruction& instruction) {
    if (instruction.hasMetadata(LLVMContext::MD_nosanitize)) return;
    if (auto* load = dyn_cast<LoadInst>(&instruction)) {
      visit_load(*load);
    } else if (auto* store = dyn_cast<StoreInst>(&instruction)) {
      if (store->isAtomic()) return;
      add({store, store->getPointerOperand(), size_of(store->getValueOperand()->getType()), store->getAlign(),
           AccessKind::kWrite, store->getValueOperand()});
    } else if (auto* memory = dyn_cast<MemIntrinsic>(&instruction)) {
      visit_memory_intrinsic(*memory);
    } else if (auto* call = dyn_cast<CallBase>(&instruction)) {
      for (unsigned i = 0; i < call->arg_size(); ++i) {
        if (!call->isByValArgument(i)) continue;
        add({call, call->getArgOperand(i),
             layout_.getTypeStoreSize(call->getParamByValType(i)).getFixedValue(),
             call->getParamAlign(i).valueOrOne(), AccessKind::kRead});
      }
    }
  }

  AccessList take() { return std::move(accesses_); }

 private:
  uint64_t size_of(Type* type) const {
    const TypeSize size = layout_.getTypeStoreSize(type);
    return size.isScalable() ? 0 : size.getFixedValue();
  }

  void visit_load(LoadInst& load) {
    if (load.isAtomic()) return;
    if (is_ordinary_memory(load.getPointerOperand()) && escapes_.is_constant(load)) {
      ++statistics_.accesses;
      ++statistics_.constant_memory;
      return;
    }
    add({&load, load.getPointerOperand(), size_of(load.getType()), load.getAlign(), AccessKind::kRead});
  }

  void visit_memory_intrinsic(MemIntrinsic& memory) {
    const auto* constant = dyn_cast<ConstantInt>(memory.getLength());
    const uint64_t size = constant ? constant->getZExtValue() : 0;
    if (constant && size == 0) return;
    Value* const dynamic = constant ? nullptr : memory.getLength();
    if (auto* transfer = dyn_cast<MemTransferInst>(&memory))
      add({&memory, transfer->getRawSource(), size, transfer->getSourceAlign().valueOrOne(),
           AccessKind::kRead, nullptr, dynamic});
    add({&memory, memory.getRawDest(), size, memory.getDestAlign().valueOrOne(), AccessKind::kWrite, nullptr,
         dynamic});
  }

  void add(Access access) {
    if (!is_ordinary_memory(access.address) || (access.size == 0 && !access.dynamic_size)) return;
    ++statistics_.accesses;
    if (access.kind == AccessKind::kRead && escapes_.is_constant(access.address)) {
      ++statistics_.constant_memory;
    } else if (skip_private_ && escapes_.is_private(access.address)) {
      ++statistics_.private_memory;
    } else {
      accesses_.push_back(access);
    }
  }

  const DataLayout& layout_;
  EscapeAnalysis& escapes_;
  const bool skip_private_;
  Statistics& statistics_;
  AccessList accesses_;
};

// The `bytes` bytes at `offset` of `stored` as an i64, or null if that is not one instruction or two away.
Value* piece_of(IRBuilderBase& builder, Value* stored, uint64_t offset, uint64_t bytes,
                const DataLayout& layout) {
  Type* type = stored->getType();
  if (type->isAggregateType() || type->isScalableTy()) return nullptr;
  if (type->isPtrOrPtrVectorTy()) {
    stored = builder.CreatePtrToInt(stored, layout.getIntPtrType(type));
    type = stored->getType();
  }
  const uint64_t bits = layout.getTypeSizeInBits(type).getFixedValue();
  if (!type->isIntegerTy()) stored = builder.CreateBitCast(stored, builder.getIntNTy(bits));
  if (offset != 0) stored = builder.CreateLShr(stored, offset * 8);
  if (bits > bytes * 8) stored = builder.CreateTrunc(stored, builder.getIntNTy(bytes * 8));
  return builder.CreateZExtOrTrunc(stored, builder.getInt64Ty());
}

bool is_hook_size(uint64_t size) { return size == 1 || size == 2 || size == 4 || size == 8 || size == 16; }

}  // namespace

bool is_masked_access(const Instruction& instruction) {
  const Function* function = intrinsic(instruction);
  if (!function) return false;
  switch (function->getIntrinsicID()) {
    case Intrinsic::masked_load:
    case Intrinsic::masked_store:
    case Intrinsic::masked_gather:
    case Intrinsic::masked_scatter:
    case Intrinsic::masked_expandload:
    case Intrinsic::masked_compressstore:
      return true;
    default:
      return false;
  }
}

AccessList AccessInstrumenter::collect(Function& function, EscapeAnalysis& escapes, bool skip_private) {
  Collector collector(function.getParent()->getDataLayout(), escapes, skip_private, statistics_);
  masked_.clear();
  for (Instruction& instruction : instructions(function)) {
    if (is_masked_access(instruction)) {
      ++statistics_.accesses;
      masked_.push_back(&instruction);
    } else {
      collector.visit(instruction);
    }
  }
  return collector.take();
}

void AccessInstrumenter::emit_check(IRBuilderBase& builder, AccessKind kind, Value* address, uint64_t size,
                                    Align alignment, Value* stored) {
  const DataLayout& layout = builder.GetInsertBlock()->getDataLayout();
  const bool is_write = kind == AccessKind::kWrite;
  const std::string name = is_write ? "__dh_write" : "__dh_read";
  const auto emit_piece = [&](Value* at, uint64_t bytes, Value* value) {
    ++statistics_.checks;
    if (is_write && bytes != 16)
      hooks_.call(builder, name + std::to_string(bytes), {at, value});
    else
      hooks_.call(builder, name + std::to_string(bytes), {at});
  };

  // Pieces that are naturally aligned: the access itself, or its halves, or up to four words.
  const uint64_t piece =
      is_hook_size(size) && alignment.value() >= size ? size : std::min<uint64_t>(alignment.value(), 8);
  const uint64_t pieces = size % piece == 0 ? size / piece : UINT64_MAX;
  if (pieces <= 2 || (piece == 8 && pieces <= 4)) {
    SmallVector<Value*, 4> values(pieces, nullptr);
    bool has_values = true;
    if (is_write && piece != 16)
      for (uint64_t i = 0; i < pieces && has_values; ++i)
        has_values = stored && (values[i] = piece_of(builder, stored, i * piece, piece, layout));
    if (has_values) {
      for (uint64_t i = 0; i < pieces; ++i)
        emit_piece(
            i == 0 ? address : builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), address, i * piece),
            piece, values[i]);
      return;
    }
  }
  ++statistics_.checks;
  hooks_.call(builder, name + "_range", {address, builder.getInt64(size)});
}

void AccessInstrumenter::emit_one(const Access& access) {
  IRBuilder<> builder(access.instruction);
  builder.SetCurrentDebugLocation(location_of(*access.instruction));
  if (!access.dynamic_size)
    return emit_check(builder, access.kind, access.address, access.size, access.alignment, access.stored);
  ++statistics_.checks;
  hooks_.call(builder, access.kind == AccessKind::kWrite ? "__dh_write_range" : "__dh_read_range",
              {access.address, builder.CreateZExtOrTrunc(access.dynamic_size, builder.getInt64Ty())});
}

// Replaces the intrinsic by its hook if it would become a call anyway. Returns false if it stays.
bool AccessInstrumenter::emit_memory_intrinsic(ArrayRef<Access*> sides) {
  auto* memory = cast<MemIntrinsic>(sides.front()->instruction);
  if (isa<MemCpyInlineInst>(memory) || isa<MemSetInlineInst>(memory)) return false;
  const auto* constant = dyn_cast<ConstantInt>(memory->getLength());
  if (constant && constant->getValue().ule(kMaxInPlace)) return false;
  // Hooks take addresses of ordinary memory only.
  if (memory->getDestAddressSpace() != 0) return false;

  IRBuilder<> builder(memory);
  builder.SetCurrentDebugLocation(location_of(*memory));
  Value* const size = builder.CreateZExtOrTrunc(memory->getLength(), builder.getInt64Ty());
  ++statistics_.checks;
  if (auto* transfer = dyn_cast<MemTransferInst>(memory)) {
    if (transfer->getSourceAddressSpace() != 0) return false;
    hooks_.call(builder, isa<MemMoveInst>(memory) ? "__dh_memmove" : "__dh_memcpy", builder.getPtrTy(),
                {memory->getRawDest(), transfer->getRawSource(), size});
  } else {
    Value* const byte = builder.CreateZExt(cast<MemSetInst>(memory)->getValue(), builder.getInt32Ty());
    hooks_.call(builder, "__dh_memset", builder.getPtrTy(), {memory->getRawDest(), byte, size});
  }
  memory->eraseFromParent();
  return true;
}

void AccessInstrumenter::emit_masked(Instruction& instruction) {
  auto& call = cast<IntrinsicInst>(instruction);
  Value* address = nullptr;
  Value* mask = nullptr;
  Align alignment(1);
  Type* vector = call.getType();
  AccessKind kind = AccessKind::kRead;
  bool is_packed = false;  // expand and compress: the active lanes lie one after the other
  const auto align_operand = [&](unsigned i) {
    return cast<ConstantInt>(call.getArgOperand(i))->getMaybeAlignValue().valueOrOne();
  };
  switch (call.getIntrinsicID()) {
    case Intrinsic::masked_load:
    case Intrinsic::masked_gather:
      address = call.getArgOperand(0), alignment = align_operand(1), mask = call.getArgOperand(2);
      break;
    case Intrinsic::masked_store:
    case Intrinsic::masked_scatter:
      kind = AccessKind::kWrite, vector = call.getArgOperand(0)->getType();
      address = call.getArgOperand(1), alignment = align_operand(2), mask = call.getArgOperand(3);
      break;
    case Intrinsic::masked_expandload:
      address = call.getArgOperand(0), mask = call.getArgOperand(1), is_packed = true;
      break;
    default:  // compressstore
      kind = AccessKind::kWrite, vector = call.getArgOperand(0)->getType(), is_packed = true;
      address = call.getArgOperand(1), mask = call.getArgOperand(2);
      break;
  }
  const auto* type = dyn_cast<FixedVectorType>(vector);
  if (!type || !is_ordinary_memory(address)) return;
  const DataLayout& layout = call.getDataLayout();
  const uint64_t element = layout.getTypeStoreSize(type->getElementType()).getFixedValue();
  const unsigned lanes = type->getNumElements();
  const DebugLoc location = location_of(call);

  if (is_packed) {
    IRBuilder<> builder(&call);
    builder.SetCurrentDebugLocation(location);
    Value* bits = builder.CreateBitCast(mask, builder.getIntNTy(lanes));
    bits =
        builder.CreateZExtOrTrunc(builder.CreateUnaryIntrinsic(Intrinsic::ctpop, bits), builder.getInt64Ty());
    ++statistics_.checks;
    hooks_.call(builder, kind == AccessKind::kWrite ? "__dh_write_range" : "__dh_read_range",
                {address, builder.CreateMul(bits, builder.getInt64(element))});
    return;
  }
  const bool is_gather = address->getType()->isVectorTy();
  const Align lane_alignment = is_gather ? alignment : commonAlignment(alignment, element);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    IRBuilder<> builder(&call);
    builder.SetCurrentDebugLocation(location);
    Value* const active = builder.CreateExtractElement(mask, lane);
    if (const auto* known = dyn_cast<ConstantInt>(active)) {
      if (known->isZero()) continue;
    } else {
      Instruction* then = SplitBlockAndInsertIfThen(active, call.getIterator(), /*Unreachable=*/false);
      builder.SetInsertPoint(then);
      builder.SetCurrentDebugLocation(location);
    }
    Value* const at = is_gather
                          ? builder.CreateExtractElement(address, lane)
                          : builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), address, lane * element);
    Value* const stored =
        kind == AccessKind::kWrite ? builder.CreateExtractElement(call.getArgOperand(0), lane) : nullptr;
    emit_check(builder, kind, at, element, lane_alignment, stored);
  }
}

void AccessInstrumenter::emit(AccessList& accesses) {
  for (size_t i = 0; i < accesses.size();) {
    // The sides of one instruction stand together.
    size_t end = i + 1;
    while (end < accesses.size() && accesses[end].instruction == accesses[i].instruction) ++end;
    SmallVector<Access*, 2> live;
    for (size_t j = i; j < end; ++j)
      if (accesses[j].live) live.push_back(&accesses[j]);
    i = end;
    if (live.empty()) continue;
    if (isa<MemIntrinsic>(live.front()->instruction) && emit_memory_intrinsic(live)) continue;
    for (const Access* access : live) emit_one(*access);
  }
  for (Instruction* instruction : masked_) emit_masked(*instruction);
}

}  // namespace deadheat::instrument
