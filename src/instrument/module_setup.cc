#include "instrument/module_setup.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "runtime/abi.h"

namespace deadheat::instrument {

using namespace llvm;

namespace {

std::string unique_name(const char* what, const std::string& mode) {
  return std::string(what) + "_v" + std::to_string(DEADHEAT_ABI_VERSION) + "_" + mode;
}

}  // namespace

void add_constructor(Module& module, Hooks& hooks, const std::string& mode) {
  LLVMContext& context = module.getContext();
  const std::string name = unique_name("__dh_module_constructor", mode);
  auto* type = FunctionType::get(Type::getVoidTy(context), /*isVarArg=*/false);
  auto* constructor =
      Function::createWithDefaultAttr(type, GlobalValue::LinkOnceODRLinkage, 0, name, &module);
  constructor->setVisibility(GlobalValue::HiddenVisibility);
  constructor->setComdat(module.getOrInsertComdat(name));
  constructor->addFnAttr(Attribute::NoUnwind);
  IRBuilder<> builder(BasicBlock::Create(context, "", constructor));
  // Not as a tail call, which link-time optimisation likes to make of it: the runtime learns from the return
  // address which module is instrumented.
  hooks
      .call(builder, "__dh_module_init",
            {builder.getInt32(DEADHEAT_ABI_VERSION), builder.CreateGlobalStringPtr(mode, "__dh_mode")})
      ->setTailCallKind(CallInst::TCK_NoTail);
  builder.CreateRetVoid();
  // Before any constructor of the program's own, which start at priority 101.
  appendToGlobalCtors(module, constructor, 0, constructor);
}

void add_note(Module& module, const std::string& mode) {
  LLVMContext& context = module.getContext();
  Type* const i32 = Type::getInt32Ty(context);
  const auto text = [&](StringRef characters, size_t size) {
    std::string padded(characters);
    padded.resize(size);
    return ConstantDataArray::getString(context, padded, /*AddNull=*/false);
  };
  Constant* const note = ConstantStruct::getAnon(
      context, {ConstantInt::get(i32, 9), ConstantInt::get(i32, 16), ConstantInt::get(i32, kNoteType),
                text("Deadheat", 12), ConstantInt::get(i32, DEADHEAT_ABI_VERSION), text(mode, 12)});
  const std::string name = unique_name("__dh_note", mode);
  auto* global = new GlobalVariable(module, note->getType(), /*isConstant=*/true,
                                    GlobalValue::LinkOnceODRLinkage, note, name);
  global->setVisibility(GlobalValue::HiddenVisibility);
  global->setComdat(module.getOrInsertComdat(name));
  global->setSection(kNoteSection);
  global->setAlignment(Align(4));
  appendToUsed(module, {global});
}

}  // namespace deadheat::instrument
