#include "instrument/atomic_instrumenter.h"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/AtomicOrdering.h>

#include <array>

#include "instrument/library_waits.h"
#include "runtime/abi.h"

namespace deadheat::instrument {

using namespace llvm;

namespace {

int c_order(AtomicOrdering ordering) { return static_cast<int>(toCABI(ordering)); }
// The order that an operation makes, which may be less than what it is compiled to.
int c_order(const Instruction& operation, AtomicOrdering ordering) {
  return c_order(is_of_library_wait(operation) ? AtomicOrdering::Monotonic : ordering);
}

// 8, 16, 32, 64 or 128 if a hook exists for values of this type, else 0.
unsigned hook_bits(Type* type, const DataLayout& layout) {
  const TypeSize size = layout.getTypeSizeInBits(type);
  if (size.isScalable()) return 0;
  const uint64_t bits = size.getFixedValue();
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 ? static_cast<unsigned>(bits) : 0;
}

bool is_ordinary(const Value* address) { return address->getType()->getPointerAddressSpace() == 0; }

Value* to_integer(IRBuilderBase& builder, Value* value, unsigned bits) {
  Type* const integer = builder.getIntNTy(bits);
  if (value->getType() == integer) return value;
  return value->getType()->isPtrOrPtrVectorTy() ? builder.CreatePtrToInt(value, integer)
                                                : builder.CreateBitCast(value, integer);
}

Value* from_integer(IRBuilderBase& builder, Value* value, Type* type) {
  if (value->getType() == type) return value;
  return type->isPtrOrPtrVectorTy() ? builder.CreateIntToPtr(value, type)
                                    : builder.CreateBitCast(value, type);
}

StringRef hook_of(AtomicRMWInst::BinOp operation) {
  switch (operation) {
    case AtomicRMWInst::Xchg:
      return "exchange";
    case AtomicRMWInst::Add:
      return "fetch_add";
    case AtomicRMWInst::Sub:
      return "fetch_sub";
    case AtomicRMWInst::And:
      return "fetch_and";
    case AtomicRMWInst::Or:
      return "fetch_or";
    case AtomicRMWInst::Xor:
      return "fetch_xor";
    case AtomicRMWInst::Nand:
      return "fetch_nand";
    default:
      return "";
  }
}

std::string hook_name(StringRef operation, unsigned bits) {
  return ("__dh_atomic_" + operation).str() + std::to_string(bits);
}

// A call of libatomic, by its name: operation and size in bytes (0: the sized form, which says its size
// itself).
struct LibraryAtomic {
  StringRef operation;
  unsigned bytes = 0;
};

std::optional<LibraryAtomic> library_atomic(const CallBase& call) {
  const Function* callee = call.getCalledFunction();
  if (!callee || !callee->isDeclaration() || isa<InvokeInst>(call)) return std::nullopt;
  StringRef name = callee->getName();
  if (!name.consume_front("__atomic_")) return std::nullopt;
  LibraryAtomic found{name, 0};
  const size_t underscore = name.rfind('_');
  if (underscore != StringRef::npos && !name.substr(underscore + 1).getAsInteger(10, found.bytes))
    found.operation = name.take_front(underscore);
  const bool is_known = StringSwitch<bool>(found.operation)
                            .Cases("load", "store", "exchange", "compare_exchange", true)
                            .Cases("fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor",
                                   "fetch_nand", found.bytes != 0)
                            .Default(false);
  if (!is_known) return std::nullopt;
  const bool is_hook_size = found.bytes == 0 || found.bytes == 1 || found.bytes == 2 || found.bytes == 4 ||
                            found.bytes == 8 || found.bytes == 16;
  return is_hook_size ? std::optional(found) : std::nullopt;
}

}  // namespace

bool is_atomic(const Instruction& instruction) {
  if (const auto* call = dyn_cast<CallBase>(&instruction)) return library_atomic(*call).has_value();
  return instruction.isAtomic();
}

bool AtomicInstrumenter::run(Function& function) {
  SmallVector<Instruction*, 16> atomics;
  for (Instruction& instruction : instructions(function))
    if (is_atomic(instruction) && !instruction.hasMetadata(LLVMContext::MD_nosanitize))
      atomics.push_back(&instruction);
  bool changed = false;
  for (Instruction* instruction : atomics) {
    if (!replace(*instruction)) continue;
    ++statistics_.atomics;
    changed = true;
  }
  return changed;
}

bool AtomicInstrumenter::replace(Instruction& instruction) {
  if (auto* load = dyn_cast<LoadInst>(&instruction)) return replace_load(*load);
  if (auto* store = dyn_cast<StoreInst>(&instruction)) return replace_store(*store);
  if (auto* update = dyn_cast<AtomicRMWInst>(&instruction)) return replace_update(*update);
  if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) return replace_exchange(*exchange);
  if (auto* fence = dyn_cast<FenceInst>(&instruction)) return replace_fence(*fence);
  if (auto* call = dyn_cast<CallBase>(&instruction)) return replace_library_call(*call);
  return false;
}

// The instruction stays, between two hooks that hold the location's order.
void AtomicInstrumenter::surround(Instruction& instruction, Value* address, unsigned operation,
                                  Value* order) {
  IRBuilder<> builder(&instruction);
  builder.SetCurrentDebugLocation(location_of(instruction));
  Type* const type = isa<StoreInst>(instruction) ? cast<StoreInst>(instruction).getValueOperand()->getType()
                                                 : instruction.getType();
  const TypeSize size = instruction.getDataLayout().getTypeStoreSize(type);
  const std::array<Value*, 4> arguments{address, builder.getInt64(size.getFixedValue()),
                                        builder.getInt32(operation), order};
  hooks_.call(builder, "__dh_atomic_begin", arguments);
  builder.SetInsertPoint(instruction.getNextNode());
  builder.SetCurrentDebugLocation(location_of(instruction));
  hooks_.call(builder, "__dh_atomic_end", arguments);
}

bool AtomicInstrumenter::replace_load(LoadInst& load) {
  Value* const address = load.getPointerOperand();
  if (!is_ordinary(address)) return false;
  IRBuilder<> builder(&load);
  builder.SetCurrentDebugLocation(location_of(load));
  const DataLayout& layout = load.getDataLayout();
  Value* const order = builder.getInt32(c_order(load, load.getOrdering()));
  const unsigned bits = hook_bits(load.getType(), layout);
  if (bits == 0) {
    surround(load, address, kDhHeldLoad, order);
    return true;
  }
  Value* value = hooks_.call(builder, hook_name("load", bits), builder.getIntNTy(bits), {address, order});
  load.replaceAllUsesWith(from_integer(builder, value, load.getType()));
  load.eraseFromParent();
  return true;
}

bool AtomicInstrumenter::replace_store(StoreInst& store) {
  Value* const address = store.getPointerOperand();
  if (!is_ordinary(address)) return false;
  IRBuilder<> builder(&store);
  builder.SetCurrentDebugLocation(location_of(store));
  const DataLayout& layout = store.getDataLayout();
  Value* const order = builder.getInt32(c_order(store, store.getOrdering()));
  Value* const value = store.getValueOperand();
  const unsigned bits = hook_bits(value->getType(), layout);
  if (bits == 0) {
    surround(store, address, kDhHeldStore, order);
    return true;
  }
  hooks_.call(builder, hook_name("store", bits), {address, to_integer(builder, value, bits), order});
  store.eraseFromParent();
  return true;
}

bool AtomicInstrumenter::replace_update(AtomicRMWInst& update) {
  Value* const address = update.getPointerOperand();
  if (!is_ordinary(address)) return false;
  IRBuilder<> builder(&update);
  builder.SetCurrentDebugLocation(location_of(update));
  const DataLayout& layout = update.getDataLayout();
  Value* const order = builder.getInt32(c_order(update, update.getOrdering()));
  const unsigned bits = hook_bits(update.getType(), layout);
  const StringRef hook = hook_of(update.getOperation());
  if (bits == 0 || hook.empty()) {
    surround(update, address, kDhHeldUpdate, order);
    return true;
  }
  Value* const operand = to_integer(builder, update.getValOperand(), bits);
  Value* old =
      hooks_.call(builder, hook_name(hook, bits), builder.getIntNTy(bits), {address, operand, order});
  update.replaceAllUsesWith(from_integer(builder, old, update.getType()));
  update.eraseFromParent();
  return true;
}

bool AtomicInstrumenter::replace_exchange(AtomicCmpXchgInst& exchange) {
  Value* const address = exchange.getPointerOperand();
  if (!is_ordinary(address)) return false;
  IRBuilder<> builder(&exchange);
  builder.SetCurrentDebugLocation(location_of(exchange));
  Type* const type = exchange.getCompareOperand()->getType();
  const unsigned bits = hook_bits(type, exchange.getDataLayout());
  if (bits == 0) return false;
  Value* const expected = to_integer(builder, exchange.getCompareOperand(), bits);
  Value* const desired = to_integer(builder, exchange.getNewValOperand(), bits);
  Value* const old = hooks_.call(
      builder, hook_name("compare_exchange", bits), builder.getIntNTy(bits),
      {address, expected, desired, builder.getInt32(c_order(exchange, exchange.getSuccessOrdering())),
       builder.getInt32(c_order(exchange, exchange.getFailureOrdering()))});
  Value* const success = builder.CreateICmpEQ(old, expected);
  Value* result =
      builder.CreateInsertValue(PoisonValue::get(exchange.getType()), from_integer(builder, old, type), 0);
  result = builder.CreateInsertValue(result, success, 1);
  exchange.replaceAllUsesWith(result);
  exchange.eraseFromParent();
  return true;
}

bool AtomicInstrumenter::replace_fence(FenceInst& fence) {
  IRBuilder<> builder(&fence);
  builder.SetCurrentDebugLocation(location_of(fence));
  const bool is_signal_fence = fence.getSyncScopeID() == SyncScope::SingleThread;
  hooks_.call(builder, is_signal_fence ? "__dh_atomic_signal_fence" : "__dh_atomic_fence",
              {builder.getInt32(c_order(fence.getOrdering()))});
  // The hook is a call the optimiser cannot see through, so the signal fence is kept by it as well.
  fence.eraseFromParent();
  return true;
}

// Those of libatomic for objects of any size, `void __atomic_load(size_t size, T* object, T* result, int
// order)` and its like: the call stays, because a lock inside the library makes it atomic. What it does to
// the buffers of its caller are plain accesses: what it takes from them it takes before, and what it puts
// there it puts there after it has learnt what the object carries.
bool AtomicInstrumenter::surround_library_call(CallBase& call, StringRef operation) {
  const bool is_compare = operation == "compare_exchange";
  const bool is_exchange = operation == "exchange";
  const unsigned buffers = is_compare || is_exchange ? 2 : 1;
  const unsigned orders = is_compare ? 2 : 1;
  if (call.arg_size() != 2 + buffers + orders || !call.getArgOperand(0)->getType()->isIntegerTy())
    return false;
  for (unsigned i = 1; i < 2 + buffers; ++i)
    if (!call.getArgOperand(i)->getType()->isPointerTy() || !is_ordinary(call.getArgOperand(i))) return false;
  for (unsigned i = 2 + buffers; i < call.arg_size(); ++i)
    if (!call.getArgOperand(i)->getType()->isIntegerTy()) return false;
  if (is_compare && !call.getType()->isIntegerTy()) return false;

  IRBuilder<> builder(&call);
  const DebugLoc location = location_of(call);
  builder.SetCurrentDebugLocation(location);
  Value* const size = builder.CreateZExtOrTrunc(call.getArgOperand(0), builder.getInt64Ty());
  Value* const object = call.getArgOperand(1);
  Value* const first_buffer = call.getArgOperand(2);
  Value* const last_buffer = call.getArgOperand(1 + buffers);
  const auto order_at = [&](unsigned i) {
    return builder.CreateZExtOrTrunc(call.getArgOperand(i), builder.getInt32Ty());
  };
  Value* order = order_at(2 + buffers);
  Value* const failure = is_compare ? order_at(3 + buffers) : nullptr;
  Value* what = builder.getInt32(operation == "load"    ? kDhHeldLoad
                                 : operation == "store" ? kDhHeldStore
                                                        : kDhHeldUpdate);

  if (operation != "load") hooks_.call(builder, "__dh_read_range", {first_buffer, size});
  if (is_compare) hooks_.call(builder, "__dh_read_range", {last_buffer, size});
  hooks_.call(builder, "__dh_atomic_begin", {object, size, what, order});
  builder.SetInsertPoint(call.getNextNode());
  builder.SetCurrentDebugLocation(location);
  Value* written = size;
  if (is_compare) {
    Value* const success = builder.CreateIsNotNull(&call);
    what = builder.CreateSelect(success, what, builder.getInt32(kDhHeldLoad));
    order = builder.CreateSelect(success, order, failure);
    written = builder.CreateSelect(success, builder.getInt64(0), size);
  }
  hooks_.call(builder, "__dh_atomic_end", {object, size, what, order});
  // Expected, if it was not; else the result.
  if (operation != "store")
    hooks_.call(builder, "__dh_write_range", {is_compare ? first_buffer : last_buffer, written});
  return true;
}

bool AtomicInstrumenter::replace_library_call(CallBase& call) {
  const LibraryAtomic atomic = *library_atomic(call);
  if (atomic.bytes == 0) return surround_library_call(call, atomic.operation);
  IRBuilder<> builder(&call);
  builder.SetCurrentDebugLocation(location_of(call));
  const auto as_order = [&](Value* order) { return builder.CreateZExtOrTrunc(order, builder.getInt32Ty()); };
  const unsigned arguments = call.arg_size();
  if (arguments < 2) return false;
  Value* const order = as_order(call.getArgOperand(arguments - 1));
  const unsigned bits = atomic.bytes * 8;
  Type* const integer = builder.getIntNTy(bits);
  Value* const address = call.getArgOperand(0);
  if (!address->getType()->isPointerTy() || !is_ordinary(address)) return false;
  const auto is_value = [&](unsigned i) { return call.getArgOperand(i)->getType() == integer; };
  Value* result = nullptr;
  if (atomic.operation == "load") {
    if (arguments != 2 || call.getType() != integer) return false;
    result = hooks_.call(builder, hook_name("load", bits), integer, {address, order});
  } else if (atomic.operation == "store") {
    if (arguments != 3 || !is_value(1)) return false;
    hooks_.call(builder, hook_name("store", bits), {address, call.getArgOperand(1), order});
  } else if (atomic.operation == "compare_exchange") {
    // bool __atomic_compare_exchange_N(T* object, T* expected, T desired, int success, int failure)
    if (arguments != 5 || !is_value(2)) return false;
    Value* const slot = call.getArgOperand(1);
    Value* const expected = builder.CreateAlignedLoad(integer, slot, Align(1));
    Value* const old =
        hooks_.call(builder, hook_name("compare_exchange", bits), integer,
                    {address, expected, call.getArgOperand(2), as_order(call.getArgOperand(3)), order});
    Value* const success = builder.CreateICmpEQ(old, expected);
    // On success this stores what is there already.
    builder.CreateAlignedStore(old, slot, Align(1));
    result = builder.CreateZExtOrTrunc(success, call.getType());
  } else {
    if (arguments != 3 || !is_value(1) || call.getType() != integer) return false;
    result = hooks_.call(builder, hook_name(atomic.operation, bits), integer,
                         {address, call.getArgOperand(1), order});
  }
  if (result) call.replaceAllUsesWith(result);
  call.eraseFromParent();
  return true;
}

}  // namespace deadheat::instrument
