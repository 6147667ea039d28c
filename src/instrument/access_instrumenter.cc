#include "instrument/access_instrumenter.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace deadheat::instrument {

using namespace llvm;

namespace {

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

// A constructor or destructor sets the object's virtual table. Often it is the one that stands there already,
// which changes nothing that C++ knows of: the hook looks.
bool is_vtable_store(const Instruction& instruction) {
  const MDNode* const tag = instruction.getMetadata(LLVMContext::MD_tbaa);
  return isa<StoreInst>(instruction) && tag != nullptr && tag->isTBAAVtableAccess() &&
         cast<StoreInst>(instruction).getValueOperand()->getType()->isPointerTy();
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
      if (is_vtable_store(*store)) {
        // Of no size that the optimisations know: whether it writes at all is only known when it runs.
        add({store, store->getPointerOperand(), 0, store->getAlign(), AccessKind::kWrite,
             store->getValueOperand(), ConstantInt::get(Type::getInt64Ty(store->getContext()), 8)});
        return;
      }
      add({store, store->getPointerOperand(), size_of(store->getValueOperand()->getType()), store->getAlign(),
           AccessKind::kWrite, store->getValueOperand()});
    } else if (auto* memory = dyn_cast<MemIntrinsic>(&instruction)) {
      visit_memory_intrinsic(*memory);
    } else if (auto* call = dyn_cast<CallBase>(&instruction)) {
      if (auto* intrinsic = dyn_cast<IntrinsicInst>(call)) visit_x86_intrinsic(*intrinsic);
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

  void visit_x86_intrinsic(IntrinsicInst& call) {
    for (const X86Area& area : x86_areas(call)) {
      IRBuilder<> builder(&call);
      Value* const address = area.offset == 0
                                 ? call.getArgOperand(area.operand)
                                 : builder.CreateConstInBoundsGEP1_64(
                                       builder.getInt8Ty(), call.getArgOperand(area.operand), area.offset);
      if (!area.component) {
        add({&call, address, area.size, Align(1), area.kind});
        continue;
      }
      Value* const components = call.getArgOperand(call.arg_size() - 1);
      Value* const is_asked_for =
          builder.CreateTrunc(builder.CreateLShr(components, *area.component), builder.getInt1Ty());
      Value* const size =
          builder.CreateSelect(is_asked_for, builder.getInt64(area.size), builder.getInt64(0));
      const auto* known = dyn_cast<ConstantInt>(size);
      if (known && known->isZero()) continue;
      add({&call, address, known ? area.size : 0, Align(1), area.kind, nullptr, known ? nullptr : size});
    }
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

// Can a value of this type be cut into pieces by an instruction or two?
bool has_pieces(Type* type) { return !type->isAggregateType() && !type->isScalableTy(); }

// The `bytes` bytes at `offset` of `stored` as an i64. REQUIRES: has_pieces(type of stored).
Value* piece_of(IRBuilderBase& builder, Value* stored, uint64_t offset, uint64_t bytes,
                const DataLayout& layout) {
  Type* type = stored->getType();
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

struct Piece {
  uint64_t offset;
  uint64_t size;
};

// A check of this many pieces is still better than a call.
constexpr size_t kMaxPieces = 4;

// Naturally aligned pieces that hooks exist for, as large as the known alignment allows; none if there would
// be too many.
SmallVector<Piece, kMaxPieces> pieces_of(uint64_t size, Align alignment) {
  SmallVector<Piece, kMaxPieces> pieces;
  for (uint64_t offset = 0; offset < size;) {
    if (pieces.size() == kMaxPieces) return {};
    uint64_t piece = std::min<uint64_t>(8, commonAlignment(alignment, offset).value());
    while (piece > size - offset) piece /= 2;
    pieces.push_back({offset, piece});
    offset += piece;
  }
  return pieces;
}

// No lanes if their number is not known. REQUIRES: load, store, gather or scatter.
LaneAccess generic_lane_access(const IntrinsicInst& call) {
  const Intrinsic::ID id = call.getIntrinsicID();
  const bool is_write = id == Intrinsic::masked_store || id == Intrinsic::masked_scatter;
  const unsigned first = is_write ? 1 : 0;
  LaneAccess access{};
  access.kind = is_write ? AccessKind::kWrite : AccessKind::kRead;
  access.stored = is_write ? call.getArgOperand(0) : nullptr;
  access.address = call.getArgOperand(first);
  access.alignment = cast<ConstantInt>(call.getArgOperand(first + 1))->getMaybeAlignValue().valueOrOne();
  access.mask = call.getArgOperand(first + 2);
  const auto* type = dyn_cast<FixedVectorType>(is_write ? access.stored->getType() : call.getType());
  if (!type) return access;
  access.lanes = type->getNumElements();
  access.element = call.getDataLayout().getTypeStoreSize(type->getElementType()).getFixedValue();
  return access;
}

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
      return is_x86_lane_access(cast<IntrinsicInst>(instruction));
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
                                    Align alignment, Value* stored, Value* stored_next) {
  const DataLayout& layout = builder.GetInsertBlock()->getDataLayout();
  const bool is_write = kind == AccessKind::kWrite;
  const std::string name = is_write ? "__dh_write" : "__dh_read";
  const bool has_unaligned_hook =
      alignment.value() < std::min<uint64_t>(size, 8) && size <= 16 && isPowerOf2_64(size);
  if (has_unaligned_hook && (!is_write || size == 16 || (stored && has_pieces(stored->getType())))) {
    ++statistics_.checks;
    SmallVector<Value*, 2> arguments{address};
    if (is_write && size != 16) arguments.push_back(piece_of(builder, stored, 0, size, layout));
    hooks_.call(builder, name + "_unaligned" + std::to_string(size), arguments);
    return;
  }
  const SmallVector<Piece, kMaxPieces> pieces = pieces_of(size, alignment);
  // A write whose value is not at hand must not claim one. That of a whole vector is taken apart only where
  // its parts have to be checked by themselves.
  const bool has_values = stored && has_pieces(stored->getType()) && (size != 16 || alignment.value() < 16);
  if (is_write && size == 16 && alignment.value() >= 8 && !stored_next && !has_values) {
    ++statistics_.checks;
    hooks_.call(builder, "__dh_write16", {address});
    return;
  }
  if (pieces.empty() || (is_write && !stored_next && !has_values)) {
    ++statistics_.checks;
    hooks_.call(builder, name + "_range", {address, builder.getInt64(size)});
    return;
  }
  const auto value_at = [&](const Piece& piece) {
    if (!stored_next) return piece_of(builder, stored, piece.offset, piece.size, layout);
    return piece_of(builder, piece.offset == 0 ? stored : stored_next, 0, piece.size, layout);
  };
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const bool is_pair = i + 1 < pieces.size() && piece.size == 8 && pieces[i + 1].size == 8;
    Value* const at = piece.offset == 0
                          ? address
                          : builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), address, piece.offset);
    SmallVector<Value*, 3> arguments{at};
    if (is_write) arguments.push_back(value_at(piece));
    if (is_write && is_pair) arguments.push_back(value_at(pieces[i + 1]));
    ++statistics_.checks;
    hooks_.call(builder, name + (is_pair ? "8x2" : std::to_string(piece.size)), arguments);
    if (is_pair) ++i;
  }
}

void AccessInstrumenter::emit_check(IRBuilderBase& builder, const Access& access) {
  builder.SetCurrentDebugLocation(location_of(*access.instruction));
  emit_check(builder, access.kind, access.address, access.size, access.alignment, access.stored,
             access.stored_next);
}

void AccessInstrumenter::emit_one(const Access& access) {
  IRBuilder<> builder(access.instruction);
  if (!access.dynamic_size) return emit_check(builder, access);
  builder.SetCurrentDebugLocation(location_of(*access.instruction));
  ++statistics_.checks;
  if (is_vtable_store(*access.instruction)) {
    hooks_.call(builder, "__dh_write_vptr", {access.address, access.stored});
    return;
  }
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

// Expand and compress: the active lanes lie one after the other.
void AccessInstrumenter::emit_packed(IntrinsicInst& call) {
  const bool is_write = call.getIntrinsicID() == Intrinsic::masked_compressstore;
  Value* const address = call.getArgOperand(is_write ? 1 : 0);
  Value* const mask = call.getArgOperand(is_write ? 2 : 1);
  const auto* type = dyn_cast<FixedVectorType>(is_write ? call.getArgOperand(0)->getType() : call.getType());
  if (!type || !is_ordinary_memory(address)) return;
  const uint64_t element = call.getDataLayout().getTypeStoreSize(type->getElementType()).getFixedValue();
  IRBuilder<> builder(&call);
  builder.SetCurrentDebugLocation(location_of(call));
  Value* bits = builder.CreateBitCast(mask, builder.getIntNTy(type->getNumElements()));
  bits =
      builder.CreateZExtOrTrunc(builder.CreateUnaryIntrinsic(Intrinsic::ctpop, bits), builder.getInt64Ty());
  ++statistics_.checks;
  hooks_.call(builder, is_write ? "__dh_write_range" : "__dh_read_range",
              {address, builder.CreateMul(bits, builder.getInt64(element))});
}

void AccessInstrumenter::emit_lanes(IntrinsicInst& call, const LaneAccess& access) {
  const DebugLoc location = location_of(call);
  const bool is_gather = access.address->getType()->isVectorTy();
  const Align alignment = is_gather ? access.alignment : commonAlignment(access.alignment, access.element);
  for (unsigned lane = 0; lane < access.lanes; ++lane) {
    IRBuilder<> builder(&call);
    builder.SetCurrentDebugLocation(location);
    Value* const active = builder.CreateExtractElement(access.mask, lane);
    if (const auto* known = dyn_cast<ConstantInt>(active)) {
      if (known->isZero()) continue;
    } else {
      Instruction* then = SplitBlockAndInsertIfThen(active, call.getIterator(), /*Unreachable=*/false);
      builder.SetInsertPoint(then);
      builder.SetCurrentDebugLocation(location);
    }
    Value* const at = is_gather ? builder.CreateExtractElement(access.address, lane)
                                : builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), access.address,
                                                                     lane * access.element);
    Value* const stored = access.stored ? builder.CreateExtractElement(access.stored, lane) : nullptr;
    emit_check(builder, access.kind, at, access.element, alignment, stored);
  }
}

void AccessInstrumenter::emit_masked(Instruction& instruction) {
  auto& call = cast<IntrinsicInst>(instruction);
  const Intrinsic::ID id = call.getIntrinsicID();
  if (id == Intrinsic::masked_expandload || id == Intrinsic::masked_compressstore) return emit_packed(call);
  if (is_x86_lane_access(call)) {
    IRBuilder<> builder(&call);
    builder.SetCurrentDebugLocation(location_of(call));
    return emit_lanes(call, x86_lane_access(builder, call));
  }
  LaneAccess access = generic_lane_access(call);
  if (access.lanes != 0 && is_ordinary_memory(access.address)) emit_lanes(call, access);
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
