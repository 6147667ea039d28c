#include "instrument/record/plan.h"

#include <llvm/CodeGen/AtomicExpandUtils.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Transforms/Utils/LowerAtomic.h>

#include "instrument/record/definite.h"
#include "instrument/record/pieces.h"
#include "instrument/sanitizer_marks.h"
#include "runtime/record_abi.h"

namespace deadheat::instrument::record {

using namespace llvm;

namespace {

// Why a function with a body cannot be in the plan; empty if it can.
std::string reason_to_leave_out(const Function& function) {
  if (is_excluded(function)) return "excluded by an attribute";
  if (function.hasAvailableExternallyLinkage()) return "its body is elsewhere";
  if (function.hasGC()) return "it is garbage-collected code";
  for (const GlobalIFunc& chooser : function.getParent()->ifuncs())
    if (chooser.getResolverFunction() == &function) return "it runs before the program is relocated";
  for (const Instruction& instruction : instructions(function)) {
    // Addresses of blocks are values, and a replay's blocks are elsewhere.
    if (isa<IndirectBrInst>(instruction)) return "computed goto";
    if (isa<CallBrInst>(instruction)) return "asm goto";
    if (isa<CatchSwitchInst>(instruction) || isa<CatchPadInst>(instruction) ||
        isa<CleanupPadInst>(instruction))
      return "exceptions of another system";
    const auto* const call = dyn_cast<CallInst>(&instruction);
    if (call == nullptr) continue;
    if (call->isMustTailCall() && function.isVarArg()) return "it forwards variable arguments";
    switch (call->getIntrinsicID()) {
      case Intrinsic::eh_sjlj_setjmp:
      case Intrinsic::eh_sjlj_longjmp:
        return "__builtin_setjmp or __builtin_longjmp";
      case Intrinsic::localescape:
        return "its frame is shared";
      default:
        break;
    }
  }
  return {};
}

// Where an intrinsic stands: nowhere (it computes the same in a replay), or at a point of this kind.
enum class IntrinsicPlace { kNative, kOpaque, kDropped, kCopy, kFill };

IntrinsicPlace place_of(const IntrinsicInst& intrinsic, PrivateLocals& locals) {
  if (isa<DbgInfoIntrinsic>(intrinsic) || isa<PseudoProbeInst>(intrinsic)) return IntrinsicPlace::kNative;
  if (isa<ConstrainedFPIntrinsic>(intrinsic)) return IntrinsicPlace::kNative;
  if (const auto* memory = dyn_cast<MemIntrinsic>(&intrinsic)) {
    // In another address space (a segment register's) an address means nothing.
    const auto* const copy = dyn_cast<MemTransferInst>(memory);
    if (memory->getDestAddressSpace() != 0 || (copy != nullptr && copy->getSourceAddressSpace() != 0))
      return IntrinsicPlace::kOpaque;
    return copy != nullptr ? IntrinsicPlace::kCopy : IntrinsicPlace::kFill;
  }
  switch (intrinsic.getIntrinsicID()) {
    case Intrinsic::lifetime_start:
    case Intrinsic::lifetime_end:
      return locals.is_pointed_to_by(*intrinsic.getArgOperand(1)) ? IntrinsicPlace::kNative
                                                                  : IntrinsicPlace::kDropped;
    case Intrinsic::assume:
    case Intrinsic::experimental_noalias_scope_decl:
    case Intrinsic::invariant_start:
    case Intrinsic::invariant_end:
    case Intrinsic::prefetch:
    case Intrinsic::donothing:
    case Intrinsic::var_annotation:
    case Intrinsic::sideeffect:
    case Intrinsic::codeview_annotation:
      return IntrinsicPlace::kDropped;
    case Intrinsic::stacksave:
    case Intrinsic::stackrestore:
    case Intrinsic::launder_invariant_group:
    case Intrinsic::strip_invariant_group:
    case Intrinsic::ptr_annotation:
    case Intrinsic::annotation:
      return IntrinsicPlace::kNative;
    // Without memory, and yet not the same in a replay.
    case Intrinsic::threadlocal_address:
    case Intrinsic::returnaddress:
    case Intrinsic::frameaddress:
    case Intrinsic::addressofreturnaddress:
    case Intrinsic::sponentry:
    case Intrinsic::thread_pointer:
    case Intrinsic::eh_typeid_for:
    // What the optimiser knows of a pointer here it need not know of the same pointer in a replay.
    case Intrinsic::objectsize:
    case Intrinsic::is_constant:
    // Calls of the mathematical library, which is another one on another machine.
    case Intrinsic::sin:
    case Intrinsic::cos:
    case Intrinsic::tan:
    case Intrinsic::asin:
    case Intrinsic::acos:
    case Intrinsic::atan:
    case Intrinsic::sinh:
    case Intrinsic::cosh:
    case Intrinsic::tanh:
    case Intrinsic::exp:
    case Intrinsic::exp2:
    case Intrinsic::exp10:
    case Intrinsic::log:
    case Intrinsic::log2:
    case Intrinsic::log10:
    case Intrinsic::pow:
    case Intrinsic::powi:
      return IntrinsicPlace::kOpaque;
    default:
      return intrinsic.doesNotAccessMemory() ? IntrinsicPlace::kNative : IntrinsicPlace::kOpaque;
  }
}

bool is_private(const AllocaInst& local) {
  const DataLayout& layout = local.getModule()->getDataLayout();
  const std::optional<TypeSize> size = local.getAllocationSize(layout);
  if (!size || size->isScalable() || !local.isStaticAlloca()) return false;
  // Pointers into it, with their distance from its start.
  SmallVector<std::pair<const Value*, int64_t>, 16> pointers = {{&local, 0}};
  const auto is_inside = [&](int64_t offset, Type* type) {
    const TypeSize bytes = layout.getTypeStoreSize(type);
    return !bytes.isScalable() && offset >= 0 &&
           static_cast<uint64_t>(offset) + bytes.getFixedValue() <= size->getFixedValue();
  };
  while (!pointers.empty()) {
    const auto [pointer, offset] = pointers.pop_back_val();
    for (const User* user : pointer->users()) {
      if (const auto* load = dyn_cast<LoadInst>(user)) {
        if (load->isAtomic() || !is_inside(offset, load->getType())) return false;
      } else if (const auto* store = dyn_cast<StoreInst>(user)) {
        if (store->isAtomic() || store->getValueOperand() == pointer ||
            !is_inside(offset, store->getValueOperand()->getType()))
          return false;
      } else if (const auto* element = dyn_cast<GetElementPtrInst>(user)) {
        APInt distance(64, 0);
        if (!element->accumulateConstantOffset(layout, distance)) return false;
        pointers.push_back({element, offset + distance.getSExtValue()});
      } else if (const auto* call = dyn_cast<IntrinsicInst>(user)) {
        if (!call->isLifetimeStartOrEnd() && !isa<DbgInfoIntrinsic>(call)) return false;
      } else {
        return false;
      }
    }
  }
  return true;
}

// Will a call of this name reach this very body? Not if the linker or the loader may choose another.
bool is_certainly(const Function& callee) {
  return !callee.isDeclaration() && !callee.isInterposable() && !callee.hasAvailableExternallyLinkage() &&
         (callee.hasLocalLinkage() || (callee.hasExternalLinkage() && callee.isDSOLocal()));
}

// Reads, adds and the like in all their spellings become the few that the runtime does.
bool is_plain_operation(const AtomicRMWInst& operation) {
  if (!operation.getType()->isIntegerTy() && operation.getOperation() != AtomicRMWInst::Xchg) return false;
  switch (operation.getOperation()) {
    case AtomicRMWInst::Xchg:
    case AtomicRMWInst::Add:
    case AtomicRMWInst::Sub:
    case AtomicRMWInst::And:
    case AtomicRMWInst::Nand:
    case AtomicRMWInst::Or:
    case AtomicRMWInst::Xor:
    case AtomicRMWInst::Max:
    case AtomicRMWInst::Min:
    case AtomicRMWInst::UMax:
    case AtomicRMWInst::UMin:
      return operation.getModule()->getDataLayout().getTypeStoreSize(operation.getType()) <= 8;
    default:
      return false;
  }
}

void expand(AtomicRMWInst* operation) {
  BasicBlock* const block = operation->getParent();
  const Value* const pointer = operation->getPointerOperand();
  const Align natural = operation->getAlign();
  const SyncScope::ID own_scope = operation->getSyncScopeID();
  expandAtomicRMWToCmpXchg(operation, [](IRBuilderBase& builder, Value* address, Value* loaded,
                                         Value* desired, Align align, AtomicOrdering order,
                                         SyncScope::ID scope, Value*& success, Value*& now) {
    Type* const type = desired->getType();
    const bool is_integer = type->isIntegerTy() || type->isPointerTy();
    if (!is_integer) {
      Type* const bits = builder.getIntNTy(static_cast<unsigned>(type->getPrimitiveSizeInBits()));
      desired = builder.CreateBitCast(desired, bits);
      loaded = builder.CreateBitCast(loaded, bits);
    }
    Value* const pair = builder.CreateAtomicCmpXchg(
        address, loaded, desired, align, order, AtomicCmpXchgInst::getStrongestFailureOrdering(order), scope);
    success = builder.CreateExtractValue(pair, 1);
    now = builder.CreateExtractValue(pair, 0);
    if (!is_integer) now = builder.CreateBitCast(now, type);
  });
  // The loop's first guess is a plain load; what it sees is part of an atomic operation all the same.
  for (Instruction& instruction : reverse(*block)) {
    auto* const guess = dyn_cast<LoadInst>(&instruction);
    if (guess == nullptr || guess->getPointerOperand() != pointer) continue;
    guess->setAtomic(AtomicOrdering::Monotonic, own_scope);
    guess->setAlignment(natural);
    break;
  }
}

}  // namespace

bool is_setjmp(const CallBase& call) {
  if (!call.hasFnAttr(Attribute::ReturnsTwice)) return false;
  const Function* const callee = call.getCalledFunction();
  if (callee == nullptr) return false;
  const StringRef name = callee->getName();
  return name == "setjmp" || name == "_setjmp" || name == "sigsetjmp" || name == "__sigsetjmp";
}

bool PrivateLocals::contains(const AllocaInst& local) {
  const auto [known, is_new] = known_.try_emplace(&local, false);
  if (is_new) known->second = is_private(local);
  return known->second;
}

bool PrivateLocals::is_pointed_to_by(const Value& pointer) {
  const Value* base = &pointer;
  while (const auto* element = dyn_cast<GetElementPtrInst>(base)) base = element->getPointerOperand();
  const auto* const local = dyn_cast<AllocaInst>(base);
  return local != nullptr && contains(*local);
}

bool may_return_nothing(const CallBase& call) {
  return !isa<Constant>(call.getCalledOperand()) && call.getType()->isIntOrPtrTy();
}

bool is_chosen_late(const CallBase& call) { return isa<GlobalIFunc>(call.getCalledOperand()); }

bool is_leading(const AllocaInst& local) {
  const BasicBlock& entry = local.getFunction()->getEntryBlock();
  if (local.getParent() != &entry) return false;
  for (const Instruction& instruction : entry) {
    if (!isa<AllocaInst>(instruction)) return false;
    if (&instruction == &local) return true;
  }
  return false;
}

uint32_t operation_of(const AtomicRMWInst& operation) {
  switch (operation.getOperation()) {
    case AtomicRMWInst::Xchg:
      return kDhAtomicExchange;
    case AtomicRMWInst::Add:
      return kDhAtomicAdd;
    case AtomicRMWInst::Sub:
      return kDhAtomicSub;
    case AtomicRMWInst::And:
      return kDhAtomicAnd;
    case AtomicRMWInst::Nand:
      return kDhAtomicNand;
    case AtomicRMWInst::Or:
      return kDhAtomicOr;
    case AtomicRMWInst::Xor:
      return kDhAtomicXor;
    case AtomicRMWInst::Max:
      return kDhAtomicMax;
    case AtomicRMWInst::Min:
      return kDhAtomicMin;
    case AtomicRMWInst::UMax:
      return kDhAtomicUMax;
    case AtomicRMWInst::UMin:
      return kDhAtomicUMin;
    default:
      report_fatal_error("deadheat: an atomic operation that the plan should have expanded");
  }
}

namespace {
// Modules without it are of recordings that were made before there were keys.
constexpr const char* kKeys = "deadheat.keys";
}  // namespace

Value* ModulePlan::key_of(const CallBase& call) const {
  if (!has_keys_ || call.arg_empty() || !call.getArgOperand(0)->getType()->isIntegerTy()) return nullptr;
  return call.getArgOperand(0);
}

Value* place_of_result(IRBuilderBase& builder, uint64_t site, Value* key) {
  if (key == nullptr) return builder.getInt64(site);
  // Beyond the sites of a small module; where it is not, two results share a place, and are predicted badly.
  Value* const byte = builder.CreateAnd(builder.CreateZExtOrTrunc(key, builder.getInt64Ty()), 0xff);
  return builder.CreateAdd(builder.CreateShl(byte, 12), builder.getInt64(site));
}

void ModulePlan::prepare(Module& module) {
  module.getOrInsertNamedMetadata(kKeys);
  for (Function& function : module) {
    if (!reason_to_leave_out(function).empty()) continue;
    SmallVector<AtomicRMWInst*, 8> unusual;
    for (Instruction& instruction : instructions(function)) {
      // Something has to stand between a call and the return; that it is a jump is only a matter of stack.
      if (auto* call = dyn_cast<CallInst>(&instruction); call && call->isTailCall())
        call->setTailCallKind(CallInst::TCK_None);
      // The child of a vfork would log into its parent's stream. POSIX lets it be a fork.
      if (auto* call = dyn_cast<CallBase>(&instruction);
          call && call->getCalledFunction() && call->getCalledFunction()->getName() == "vfork")
        call->setCalledFunction(module.getOrInsertFunction("fork", call->getFunctionType()));
      if (auto* operation = dyn_cast<AtomicRMWInst>(&instruction);
          operation && !is_plain_operation(*operation))
        unusual.push_back(operation);
    }
    for (AtomicRMWInst* operation : unusual) expand(operation);
    PrivateLocals locals;
    make_definite(function, locals);
  }
}

ModulePlan::ModulePlan(Module& module) : has_keys_(module.getNamedMetadata(kKeys) != nullptr) {
  SmallVector<Function*, 64> chosen;
  for (Function& function : module) {
    if (function.isDeclaration()) continue;
    if (std::string reason = reason_to_leave_out(function); !reason.empty()) {
      left_out_.emplace_back(&function, std::move(reason));
      continue;
    }
    planned_.insert(&function);
    chosen.push_back(&function);
  }
  for (Function* function : chosen) plan(*function);
  collect_globals(module);
}

void ModulePlan::add(FunctionPlan& plan, PointKind kind, Instruction* instruction, Type* value) {
  plan.points.push_back({kind, instruction, nullptr, next_site_});
  const size_t pieces =
      value == nullptr ? 0 : pieces_of(value, instruction->getModule()->getDataLayout()).size();
  next_site_ += static_cast<uint32_t>(std::max<size_t>(1, pieces));
}

void ModulePlan::plan_call(FunctionPlan& plan, CallBase& call) {
  if (auto* intrinsic = dyn_cast<IntrinsicInst>(&call)) {
    switch (place_of(*intrinsic, locals_)) {
      case IntrinsicPlace::kNative:
        return;
      case IntrinsicPlace::kOpaque:
        return add(plan, PointKind::kOpaque, &call, call.getType());
      case IntrinsicPlace::kDropped:
        return add(plan, PointKind::kDropped, &call);
      case IntrinsicPlace::kCopy:
        return add(plan, PointKind::kCopy, &call);
      case IntrinsicPlace::kFill:
        return add(plan, PointKind::kFill, &call);
    }
  }
  if (call.isInlineAsm()) return add(plan, PointKind::kOpaque, &call, call.getType());
  if (is_setjmp(call)) return add(plan, PointKind::kSetjmp, &call, call.getType());
  const Function* const callee = call.getCalledFunction();
  const bool is_known = callee != nullptr && is_certainly(*callee) && planned_.contains(callee);
  add(plan, is_known ? PointKind::kVisibleCall : PointKind::kCall, &call, call.getType());
}

void ModulePlan::plan(Function& function) {
  FunctionPlan plan;
  plan.function = &function;
  plan.is_enterable = !function.hasLocalLinkage() || function.hasAddressTaken();
  // Functions of this module that are left out are invisible code as any other.
  for (const User* user : function.users())
    if (const auto* caller = dyn_cast<Instruction>(user); caller && !planned_.contains(caller->getFunction()))
      plan.is_enterable = true;
  for (Argument& argument : function.args())
    if (argument.hasByValAttr()) {
      plan.points.push_back({PointKind::kByValue, nullptr, &argument, next_site_});
      ++next_site_;
    }
  for (Instruction& instruction : instructions(function)) {
    // Unoptimised code has landing pads that nothing reaches any more.
    if (isa<InvokeInst>(instruction) || isa<LandingPadInst>(instruction)) plan.has_invokes = true;
    if (auto* load = dyn_cast<LoadInst>(&instruction)) {
      if (load->isAtomic())
        add(plan, PointKind::kAtomic, load, load->getType());
      else if (load->getPointerAddressSpace() != 0)
        add(plan, PointKind::kOpaque, load, load->getType());
      else if (!locals_.is_pointed_to_by(*load->getPointerOperand()))
        add(plan, PointKind::kLoad, load, load->getType());
    } else if (auto* store = dyn_cast<StoreInst>(&instruction)) {
      if (store->isAtomic())
        add(plan, PointKind::kAtomic, store);
      else if (store->getPointerAddressSpace() != 0)
        add(plan, PointKind::kDropped, store);
      else if (!locals_.is_pointed_to_by(*store->getPointerOperand()))
        add(plan, PointKind::kStore, store, store->getValueOperand()->getType());
    } else if (auto* local = dyn_cast<AllocaInst>(&instruction)) {
      if (!locals_.contains(*local)) add(plan, PointKind::kLocal, local);
    } else if (isa<AtomicRMWInst>(instruction) || isa<AtomicCmpXchgInst>(instruction)) {
      add(plan, PointKind::kAtomic, &instruction, instruction.getType());
    } else if (auto* fence = dyn_cast<FenceInst>(&instruction)) {
      // A fence for signal handlers is the compiler's business alone.
      if (fence->getSyncScopeID() == SyncScope::SingleThread) continue;
      add(plan, PointKind::kAtomic, fence);
      has_acquiring_fences_ |= isAcquireOrStronger(fence->getOrdering());
    } else if (isa<LandingPadInst>(instruction)) {
      add(plan, PointKind::kLandingPad, &instruction, instruction.getType());
    } else if (isa<ResumeInst>(instruction)) {
      add(plan, PointKind::kResume, &instruction);
    } else if (auto* call = dyn_cast<CallBase>(&instruction)) {
      plan_call(plan, *call);
    } else if (isa<VAArgInst>(instruction)) {
      add(plan, PointKind::kOpaque, &instruction, instruction.getType());
    }
  }
  functions_.push_back(std::move(plan));
}

void ModulePlan::collect_globals(Module& module) {
  DenseSet<const GlobalValue*> used;
  DenseSet<const Constant*> seen;
  SmallVector<const Constant*, 16> waiting;
  const auto visit = [&](const Value* value) {
    if (const auto* constant = dyn_cast<Constant>(value); constant && seen.insert(constant).second)
      waiting.push_back(constant);
  };
  for (const FunctionPlan& plan : functions_)
    for (const Instruction& instruction : instructions(*plan.function)) {
      const auto* const call = dyn_cast<CallBase>(&instruction);
      for (const Use& use : instruction.operands()) {
        // The target of a call that may be invisible is compared as an address; of a visible one it is just
        // called.
        if (call != nullptr && call->isCallee(&use) && isa<Function>(use) &&
            (cast<Function>(use)->isIntrinsic() ||
             (is_certainly(*cast<Function>(use)) && planned_.contains(cast<Function>(use)))))
          continue;
        // Types of exceptions are matched when recording; a replay is told the outcome.
        if (isa<LandingPadInst>(instruction)) continue;
        visit(use);
      }
    }
  while (!waiting.empty()) {
    const Constant* const constant = waiting.pop_back_val();
    if (const auto* global = dyn_cast<GlobalValue>(constant)) {
      used.insert(global);
      continue;
    }
    for (const Use& use : constant->operands()) visit(use);
  }
  const auto take = [&](GlobalValue& global) {
    if (used.contains(&global) && !global.isThreadLocal() && !global.getName().starts_with("llvm."))
      globals_.push_back(&global);
  };
  for (GlobalVariable& global : module.globals()) take(global);
  for (Function& function : module) take(function);
  for (GlobalAlias& alias : module.aliases()) take(alias);
  for (GlobalIFunc& chooser : module.ifuncs()) take(chooser);
}

}  // namespace deadheat::instrument::record
