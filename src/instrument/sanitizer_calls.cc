#include "instrument/sanitizer_calls.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

#include <optional>

namespace deadheat::instrument {

using namespace llvm;

namespace {

// The six orders of the C ABI; bits above them are hints for processors (ThreadSanitizer ignores the same
// ones).
std::optional<AtomicOrdering> order_of(const Value* value) {
  const auto* const constant = dyn_cast<ConstantInt>(value);
  if (!constant) return std::nullopt;
  switch (constant->getZExtValue() & 0x7fff) {
    case 0:
      return AtomicOrdering::Monotonic;
    case 1:  // consume
    case 2:
      return AtomicOrdering::Acquire;
    case 3:
      return AtomicOrdering::Release;
    case 4:
      return AtomicOrdering::AcquireRelease;
    case 5:
      return AtomicOrdering::SequentiallyConsistent;
    default:
      return std::nullopt;
  }
}

bool only_releases(AtomicOrdering order) {
  return order == AtomicOrdering::Release || order == AtomicOrdering::AcquireRelease;
}
bool only_acquires(AtomicOrdering order) {
  return order == AtomicOrdering::Acquire || order == AtomicOrdering::AcquireRelease;
}

// Is it called as declared? Anything else is somebody else's function of that name.
bool takes(const CallBase& call, Type* result, ArrayRef<Type*> arguments) {
  return call.getType() == result && call.arg_size() == arguments.size() &&
         all_of(enumerate(arguments),
                [&](const auto& one) { return call.getArgOperand(one.index())->getType() == one.value(); });
}

class Lowering {
 public:
  explicit Lowering(CallBase& call) : call_(call), builder_(&call), int_(builder_.getInt32Ty()) {}

  // What the call is instead, null if it stays one. Stores have no result, and return the store.
  Value* run(StringRef name) {
    unsigned bits;
    if (name.consume_front("__sanitizer_unaligned_")) return unaligned(name);
    if (!name.consume_front("__tsan_atomic")) return nullptr;
    if (name == "_thread_fence") return fence(SyncScope::System);
    if (name == "_signal_fence") return fence(SyncScope::SingleThread);
    // 16 bytes need an instruction that the program may not be compiled for.
    if (name.consumeInteger(10, bits) || !is_contained({8u, 16u, 32u, 64u}, bits)) return nullptr;
    value_ = builder_.getIntNTy(bits);
    align_ = Align(bits / 8);
    return atomic(name);
  }

 private:
  Value* unaligned(StringRef name) {
    unsigned bits;
    const bool loads = name.consume_front("load");
    if (!loads && !name.consume_front("store")) return nullptr;
    if (name.getAsInteger(10, bits) || !is_contained({16u, 32u, 64u}, bits)) return nullptr;
    value_ = builder_.getIntNTy(bits);
    if (loads && takes(call_, value_, pointer())) return builder_.CreateAlignedLoad(value_, at(), Align(1));
    if (!loads && takes(call_, builder_.getVoidTy(), {pointer(), value_}))
      return builder_.CreateAlignedStore(argument(1), at(), Align(1));
    return nullptr;
  }

  Value* fence(SyncScope::ID scope) {
    if (!takes(call_, builder_.getVoidTy(), int_)) return nullptr;
    const std::optional<AtomicOrdering> order = order_of(argument(0));
    if (!order || *order == AtomicOrdering::Monotonic) return nullptr;
    return builder_.CreateFence(*order, scope);
  }

  Value* atomic(StringRef name) {
    if (name == "_load") {
      if (!takes(call_, value_, {pointer(), int_})) return nullptr;
      const std::optional<AtomicOrdering> order = order_of(argument(1));
      if (!order || only_releases(*order)) return nullptr;
      LoadInst* const load = builder_.CreateAlignedLoad(value_, at(), align_, /*isVolatile=*/true);
      load->setAtomic(*order);
      return load;
    }
    if (name == "_store") {
      if (!takes(call_, builder_.getVoidTy(), {pointer(), value_, int_})) return nullptr;
      const std::optional<AtomicOrdering> order = order_of(argument(2));
      if (!order || only_acquires(*order)) return nullptr;
      StoreInst* const store = builder_.CreateAlignedStore(argument(1), at(), align_, /*isVolatile=*/true);
      store->setAtomic(*order);
      return store;
    }
    if (name.consume_front("_compare_exchange_")) return compare_exchange(name);
    static constexpr std::pair<StringLiteral, AtomicRMWInst::BinOp> kUpdates[] = {
        {"_exchange", AtomicRMWInst::Xchg},  {"_fetch_add", AtomicRMWInst::Add},
        {"_fetch_sub", AtomicRMWInst::Sub},  {"_fetch_and", AtomicRMWInst::And},
        {"_fetch_or", AtomicRMWInst::Or},    {"_fetch_xor", AtomicRMWInst::Xor},
        {"_fetch_nand", AtomicRMWInst::Nand}};
    for (const auto& [update, operation] : kUpdates) {
      if (name != update || !takes(call_, value_, {pointer(), value_, int_})) continue;
      const std::optional<AtomicOrdering> order = order_of(argument(2));
      if (!order) return nullptr;
      AtomicRMWInst* const made = builder_.CreateAtomicRMW(operation, at(), argument(1), align_, *order);
      made->setVolatile(true);
      return made;
    }
    return nullptr;
  }

  Value* compare_exchange(StringRef name) {
    const bool by_value = name == "val";
    if (!by_value && name != "strong" && name != "weak") return nullptr;
    if (by_value ? !takes(call_, value_, {pointer(), value_, value_, int_, int_})
                 : !takes(call_, int_, {pointer(), pointer(), value_, int_, int_}))
      return nullptr;
    const std::optional<AtomicOrdering> success = order_of(argument(3)), failure = order_of(argument(4));
    if (!success || !failure || only_releases(*failure)) return nullptr;
    // What is expected is the caller's own variable: read before, and written if it was not so.
    Value* const expected = by_value ? argument(1) : builder_.CreateAlignedLoad(value_, argument(1), align_);
    AtomicCmpXchgInst* const made =
        builder_.CreateAtomicCmpXchg(at(), expected, argument(2), align_, *success, *failure);
    made->setVolatile(true);
    made->setWeak(name == "weak");
    Value* const old = builder_.CreateExtractValue(made, 0);
    if (by_value) return old;
    Value* const succeeded = builder_.CreateExtractValue(made, 1);
    Value* const result = builder_.CreateZExt(succeeded, int_);
    IRBuilder<> failed(SplitBlockAndInsertIfThen(builder_.CreateNot(succeeded), &call_, false));
    failed.SetCurrentDebugLocation(call_.getDebugLoc());
    failed.CreateAlignedStore(old, argument(1), align_);
    return result;
  }

  Type* pointer() { return builder_.getPtrTy(); }
  Value* argument(unsigned i) { return call_.getArgOperand(i); }
  Value* at() { return argument(0); }

  CallBase& call_;
  IRBuilder<> builder_;
  Type* int_;
  Type* value_ = nullptr;
  Align align_;
};

}  // namespace

void lower_sanitizer_calls(Function& function) {
  SmallVector<CallBase*> calls;
  for (Instruction& instruction : instructions(function)) {
    auto* const call = dyn_cast<CallBase>(&instruction);
    const Function* const callee = call ? call->getCalledFunction() : nullptr;
    if (!callee || !callee->isDeclaration()) continue;
    if (callee->getName().starts_with("__tsan_atomic") ||
        callee->getName().starts_with("__sanitizer_unaligned_"))
      calls.push_back(call);
  }
  for (CallBase* call : calls) {
    // None of them throws, but not every declaration says so.
    if (auto* const invoke = dyn_cast<InvokeInst>(call)) call = changeToCall(invoke);
    Value* const made = Lowering(*call).run(call->getCalledFunction()->getName());
    if (!made) continue;
    if (!call->getType()->isVoidTy()) call->replaceAllUsesWith(made);
    call->eraseFromParent();
  }
}

}  // namespace deadheat::instrument
