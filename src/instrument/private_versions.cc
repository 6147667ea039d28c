#include "instrument/private_versions.h"

#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "instrument/access_instrumenter.h"
#include "runtime/abi.h"

namespace deadheat::instrument {

using namespace llvm;

namespace {

// Larger ones have more to do than to look at their arguments.
constexpr unsigned kMaxInstructions = 150;
constexpr unsigned kMaxUses = 100;

// What stands before the entry: i32 distance, i32 0, i64 tag.
constexpr unsigned kPrefixBytes = 16;
constexpr unsigned kTagOffset = 8;
// Of no meaning as code or text, and another one with each version of the hooks.
constexpr uint64_t tag_of(ArgumentMask arguments) {
  return 0x9d3c'a5f1'0000'0000 ^ uint64_t { DEADHEAT_ABI_VERSION } << 24 ^ arguments;
}

bool may_be_private(const Argument& argument) {
  return argument.getType()->isPointerTy() && argument.getType()->getPointerAddressSpace() == 0 &&
         !argument.hasPassPointeeByValueCopyAttr() && !argument.hasNestAttr() &&
         !argument.hasSwiftErrorAttr() && !argument.hasAttribute(Attribute::SwiftSelf) &&
         !argument.hasAttribute(Attribute::SwiftAsync);
}

bool is_method(const Function& function) {
  if (const DISubprogram* program = function.getSubprogram(); program && program->getType()) {
    const DITypeRefArray types = program->getType()->getTypeArray();
    if (types.size() > 1 && types[1]) return types[1]->isArtificial();
    if (types.size() != 0) return false;
  }
  // A function of a namespace looks alike.
  return function.getName().starts_with("_ZN");
}

struct Uses {
  ArgumentMask plain = 0;
  ArgumentMask atomic = 0;
};

Uses uses_of_arguments(const Function& function) {
  Uses uses;
  const auto note = [&](const Value* address, bool is_atomic) {
    const auto* argument = dyn_cast<Argument>(getUnderlyingObject(address, /*MaxLookup=*/0));
    if (argument && argument->getArgNo() < kMaxArguments)
      (is_atomic ? uses.atomic : uses.plain) |= ArgumentMask{1} << argument->getArgNo();
  };
  for (const Instruction& instruction : instructions(function)) {
    if (const Value* address = getLoadStorePointerOperand(&instruction)) {
      note(address, instruction.isAtomic());
    } else if (const auto* update = dyn_cast<AtomicRMWInst>(&instruction)) {
      note(update->getPointerOperand(), true);
    } else if (const auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
      note(exchange->getPointerOperand(), true);
    } else if (const auto* memory = dyn_cast<MemIntrinsic>(&instruction)) {
      note(memory->getRawDest(), false);
      if (const auto* transfer = dyn_cast<MemTransferInst>(memory)) note(transfer->getRawSource(), false);
    }
  }
  return uses;
}

// Is all that happens to `pointer` that memory is accessed through it? What else knows the memory, another
// function or a place that it may be or not be, checks it, and would leave records of it behind that nobody
// ends.
bool is_only_accessed(const Value& pointer, unsigned& uses) {
  for (const Use& use : pointer.uses()) {
    if (++uses > kMaxUses) return false;
    const User* const user = use.getUser();
    if (isa<GetElementPtrInst>(user)) {
      if (!is_only_accessed(*user, uses)) return false;
    } else if (const auto* memory = dyn_cast<MemIntrinsic>(user)) {
      // A longer one becomes a call that checks both sides.
      const auto* length = dyn_cast<ConstantInt>(memory->getLength());
      if (!length || length->getValue().ugt(AccessInstrumenter::kMaxInPlace)) return false;
    } else if (!isa<LoadInst>(user) && !isa<StoreInst>(user) && !isa<ICmpInst>(user)) {
      return false;
    }
  }
  return true;
}

bool can_be_copied(const Function& function) {
  unsigned count = 0;
  for (const BasicBlock& block : function) {
    if (block.hasAddressTaken()) return false;
    if (isa<IndirectBrInst>(block.getTerminator()) || isa<CallBrInst>(block.getTerminator())) return false;
    for (const Instruction& instruction : block) {
      if (instruction.isDebugOrPseudoInst()) continue;
      if (++count > kMaxInstructions) return false;
      const auto* call = dyn_cast<CallBase>(&instruction);
      if (call && (call->cannotDuplicate() || call->hasFnAttr(Attribute::ReturnsTwice) ||
                   call->getIntrinsicID() == Intrinsic::localescape))
        return false;
    }
  }
  return true;
}

// May something stand before its entry?
bool can_be_announced(const Function& function) {
  return !function.hasPrefixData() && !function.hasPrologueData() &&
         function.getAlign().valueOrOne() <= Align(kPrefixBytes) &&
         !function.hasFnAttribute("patchable-function-prefix") &&
         !function.getParent()->getModuleFlag("kcfi");
}

Value* place_before(IRBuilderBase& builder, const CallBase& call) {
  return builder.CreateConstGEP1_64(builder.getInt8Ty(), call.getCalledOperand(),
                                    -static_cast<int64_t>(kPrefixBytes));
}

}  // namespace

ArgumentMask private_arguments(const Function& function) {
  const Uses uses = uses_of_arguments(function);
  ArgumentMask found = 0;
  for (const Argument& argument : function.args()) {
    if (argument.getArgNo() >= kMaxArguments) break;
    const ArgumentMask bit = ArgumentMask{1} << argument.getArgNo();
    if ((uses.plain & ~uses.atomic & bit) == 0 || !may_be_private(argument)) continue;
    unsigned uses_so_far = 0;
    if (is_only_accessed(argument, uses_so_far) &&
        !PointerMayBeCaptured(&argument, /*ReturnCaptures=*/true, /*StoreCaptures=*/true, kMaxUses))
      found |= bit;
  }
  if (!is_method(function)) return found;
  // Where the result goes stands before `this`.
  const unsigned self = function.hasStructRetAttr() ? 1 : 0;
  return found & ~(ArgumentMask{1} << self);
}

PrivateVersions::PrivateVersions(ArrayRef<Function*> functions) {
  for (Function* function : functions) {
    // Another definition may take the place of this one; of its like there may be many.
    if (function->isInterposable() || function->hasAvailableExternallyLinkage() || function->isVarArg())
      continue;
    if (function->getName() == "main" || !can_be_announced(*function) || !can_be_copied(*function)) continue;
    if (const ArgumentMask arguments = private_arguments(*function)) add(*function, arguments);
  }
}

void PrivateVersions::add(Function& function, ArgumentMask arguments) {
  Module& module = *function.getParent();
  const std::string name = (function.getName() + kSuffix + Twine(arguments)).str();
  ValueToValueMapTy map;
  Function* const version = CloneFunction(&function, map);
  version->setName(name);
  version->setPrefixData(nullptr);
  version->setDLLStorageClass(GlobalValue::DefaultStorageClass);
  if (function.hasComdat() && !function.hasLocalLinkage()) {
    // Found by name, from whichever file the function itself is taken; in a group of its own, because others
    // of this file may have it, too.
    version->setLinkage(GlobalValue::LinkOnceODRLinkage);
    version->setVisibility(GlobalValue::HiddenVisibility);
    version->setComdat(module.getOrInsertComdat(name));
  } else {
    version->setLinkage(GlobalValue::InternalLinkage);
    version->setVisibility(GlobalValue::DefaultVisibility);
  }
  version->setDSOLocal(true);
  // Else the distance would be that to its entry in the table of functions elsewhere, which some assemblers
  // cannot say.
  version->setUnnamedAddr(GlobalValue::UnnamedAddr::None);

  LLVMContext& context = module.getContext();
  Type* const i32 = Type::getInt32Ty(context);
  Type* const i64 = Type::getInt64Ty(context);
  Constant* const distance =
      ConstantExpr::getTrunc(ConstantExpr::getSub(ConstantExpr::getPtrToInt(version, i64),
                                                  ConstantExpr::getPtrToInt(&function, i64)),
                             i32);
  function.setPrefixData(ConstantStruct::getAnon(
      context, {distance, ConstantInt::get(i32, 0), ConstantInt::get(i64, tag_of(arguments))}));
  versions_[&function] = {version, arguments};
  arguments_[version] = arguments;
}

SmallVector<Function*, 16> PrivateVersions::functions() const {
  SmallVector<Function*, 16> all;
  for (const auto& [function, version] : versions_) all.push_back(version.function);
  return all;
}

Value* PrivateVersions::emit_question(IRBuilderBase& builder, const CallBase& call, ArgumentMask arguments) {
  Module& module = *builder.GetInsertBlock()->getModule();
  // What stands before a function that begins a page need not be mapped (code that was generated as the
  // program ran); nothing stands there then.
  constexpr uint64_t kWithinPage = 4096 - kPrefixBytes;
  Type* const bytes = ArrayType::get(builder.getInt8Ty(), kPrefixBytes);
  auto* const nothing = cast<GlobalVariable>(module.getOrInsertGlobal("__dh_no_version", bytes, [&] {
    auto* const zeroes = new GlobalVariable(module, bytes, /*isConstant=*/true, GlobalValue::PrivateLinkage,
                                            ConstantAggregateZero::get(bytes), "__dh_no_version");
    zeroes->setAlignment(Align(kPrefixBytes));
    return zeroes;
  }));
  Value* const address = builder.CreatePtrToInt(call.getCalledOperand(), builder.getInt64Ty());
  Value* const is_inside = builder.CreateICmpNE(builder.CreateAnd(address, kWithinPage), builder.getInt64(0));
  Value* const place = builder.CreateSelect(is_inside, place_before(builder, call), nothing);
  Value* const tag = builder.CreateAlignedLoad(
      builder.getInt64Ty(), builder.CreateConstGEP1_64(builder.getInt8Ty(), place, kTagOffset), Align(1));
  return builder.CreateICmpEQ(tag, builder.getInt64(tag_of(arguments)), "dh.has_version");
}

Value* PrivateVersions::emit_version(IRBuilderBase& builder, const CallBase& call) {
  Value* const distance =
      builder.CreateAlignedLoad(builder.getInt32Ty(), place_before(builder, call), Align(1));
  return builder.CreateGEP(builder.getInt8Ty(), call.getCalledOperand(),
                           builder.CreateSExt(distance, builder.getInt64Ty()), "dh.version");
}

}  // namespace deadheat::instrument
