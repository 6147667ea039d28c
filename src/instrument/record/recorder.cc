#include "instrument/record/recorder.h"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "instrument/hooks.h"
#include "instrument/inline_hooks.h"
#include "instrument/module_setup.h"
#include "instrument/record/function_recorder.h"
#include "instrument/record/plan.h"
#include "instrument/sanitizer_marks.h"
#include "instrument/statistics.h"
#include "runtime/record_abi.h"

namespace deadheat::instrument::record {

using namespace llvm;

namespace {

constexpr const char* kModulesSection = "deadheat_modules";
constexpr const char* kFunctionsSection = "deadheat_functions";

// With hooks inside, a function is no longer what its attributes say; and what is inlined later, at link
// time, could not be called back.
void drop_untrue_attributes(Function& function) {
  for (Attribute::AttrKind kind : {Attribute::Memory, Attribute::NoSync, Attribute::Speculatable,
                                   Attribute::AlwaysInline, Attribute::NoFree})
    function.removeFnAttr(kind);
  function.addFnAttr(Attribute::NoInline);
}

// The IR as it stands, and its name.
struct SavedModule {
  SmallString<0> bitcode;
  uint64_t id;
};

SavedModule save(const Module& module) {
  SavedModule saved;
  raw_svector_ostream stream(saved.bitcode);
  WriteBitcodeToFile(module, stream);
  saved.id =
      xxh3_64bits(ArrayRef(reinterpret_cast<const uint8_t*>(saved.bitcode.data()), saved.bitcode.size()));
  return saved;
}

class Descriptors {
 public:
  Descriptors(Module& module, const ModulePlan& plan, const SavedModule& saved)
      : module_(module),
        context_(module.getContext()),
        pointer_(PointerType::getUnqual(context_)),
        word_(Type::getInt64Ty(context_)) {
    GlobalVariable* const ir =
        constant(ConstantDataArray::getString(context_, saved.bitcode, /*AddNull=*/false), "dh.ir");
    ir->setAlignment(Align(16));
    SmallVector<Constant*, 64> addresses;
    for (GlobalValue* global : plan.globals()) addresses.push_back(global);
    GlobalVariable* const globals =
        constant(ConstantArray::get(ArrayType::get(pointer_, addresses.size()), addresses), "dh.globals");
    descriptor_ = constant(
        ConstantStruct::getAnon({number(saved.id), ir, number(saved.bitcode.size()), globals,
                                 number(addresses.size()), number(plan.has_acquiring_fences() ? 1 : 0)}),
        "dh.module");
    GlobalVariable* const entry = constant(descriptor_, "dh.module.entry");
    entry->setSection(kModulesSection);
    appendToUsed(module, {entry});
  }

  // The function's own address, whatever the loader makes of its name.
  Constant* add(Function& function, uint64_t index) {
    Constant* const address =
        function.hasLocalLinkage()
            ? static_cast<Constant*>(&function)
            : GlobalAlias::create(function.getValueType(), 0, GlobalValue::InternalLinkage,
                                  function.getName() + ".dh.self", &function, &module_);
    GlobalVariable* const entry =
        constant(ConstantStruct::getAnon(
                     {address, descriptor_,
                      number(index | (function.getReturnType()->isVoidTy() ? kDhReturnsNothing : 0))}),
                 "dh.function");
    entry->setSection(kFunctionsSection);
    entry->setAlignment(Align(8));
    entry->setComdat(function.getComdat());
    // Lives and dies with the function: of several copies only the one that the linker chose is listed.
    entry->setMetadata(LLVMContext::MD_associated, MDNode::get(context_, ValueAsMetadata::get(&function)));
    appendToCompilerUsed(module_, {entry});
    return address;
  }

  void add_constructor(Hooks& hooks) {
    const std::string name = "__dh_record_constructor_v" + std::to_string(DEADHEAT_RECORD_ABI_VERSION);
    auto* const constructor =
        Function::createWithDefaultAttr(FunctionType::get(Type::getVoidTy(context_), false),
                                        GlobalValue::LinkOnceODRLinkage, 0, name, &module_);
    constructor->setVisibility(GlobalValue::HiddenVisibility);
    constructor->setComdat(module_.getOrInsertComdat(name));
    constructor->addFnAttr(Attribute::NoUnwind);
    IRBuilder<> builder(BasicBlock::Create(context_, "", constructor));
    hooks.call(
        builder, "__dh_module_init",
        {builder.getInt32(DEADHEAT_ABI_VERSION), builder.CreateGlobalStringPtr("record", "__dh_mode")});
    hooks.call(builder, "__dh_rec_modules",
               {builder.getInt32(DEADHEAT_RECORD_ABI_VERSION), bound("__start_", kModulesSection),
                bound("__stop_", kModulesSection), bound("__start_", kFunctionsSection),
                bound("__stop_", kFunctionsSection)});
    builder.CreateRetVoid();
    appendToGlobalCtors(module_, constructor, 0, constructor);
  }

 private:
  Constant* number(uint64_t value) { return ConstantInt::get(word_, value); }

  GlobalVariable* constant(Constant* value, const char* name) {
    return new GlobalVariable(module_, value->getType(), /*isConstant=*/true, GlobalValue::PrivateLinkage,
                              value, name);
  }

  // The linker's names for a section's ends; null where nothing of the section is left.
  Constant* bound(const char* end, const char* section) {
    const std::string name = std::string(end) + section;
    if (GlobalVariable* const known = module_.getNamedGlobal(name)) return known;
    auto* const symbol = new GlobalVariable(module_, Type::getInt8Ty(context_), false,
                                            GlobalValue::ExternalWeakLinkage, nullptr, name);
    symbol->setVisibility(GlobalValue::HiddenVisibility);
    return symbol;
  }

  Module& module_;
  LLVMContext& context_;
  Type* pointer_;
  Type* word_;
  GlobalVariable* descriptor_ = nullptr;
};

}  // namespace

PreservedAnalyses RecordPass::run(Module& module, ModuleAnalysisManager&) {
  ModulePlan::prepare(module);
  const SavedModule saved = save(module);
  const ModulePlan plan(module);
  if (plan.functions().empty()) {
    seal(module);
    return PreservedAnalyses::none();
  }
  Hooks hooks(module);
  Descriptors descriptors(module, plan, saved);
  FunctionRecorder recorder(hooks, module, plan, DH_OPAQUE_BASE + ((saved.id & 0xffffffff) << 20));
  uint64_t index = 0;
  for (const FunctionPlan& function : plan.functions()) {
    Function* const plain = may_hand_over(*function.function) ? plain_copy(*function.function) : nullptr;
    recorder.run(function);
    Constant* const address = descriptors.add(*function.function, index++);
    if (function.is_enterable) add_callback_check(hooks, *function.function, address);
    if (plain != nullptr) add_off_switch(hooks, *function.function, *plain);
    drop_untrue_attributes(*function.function);
    mark_instrumented(*function.function);
  }
  descriptors.add_constructor(hooks);
  add_note(module, "record");
  Statistics statistics;
  if (inline_hooks_ && options_.is_on(Optimisation::kInline))
    if (Status status = inline_hooks(module, hook_bitcode("record"), statistics); !status.ok())
      report_fatal_error(Twine("deadheat: ") + status.error().message, /*gen_crash_diag=*/false);
  recorder.promote_copies();
  seal(module);
  if (options_.statistics)
    for (const auto& [function, reason] : plan.left_out())
      errs() << "deadheat: " << module.getSourceFileName() << ": " << function->getName()
             << " is not recorded: " << reason << "\n";
  return PreservedAnalyses::none();
}

}  // namespace deadheat::instrument::record
