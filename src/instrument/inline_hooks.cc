#include "instrument/inline_hooks.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "instrument/hooks.h"

namespace deadheat::instrument {

using namespace llvm;

namespace {

void prepare(Module& hooks) {
  StripDebugInfo(hooks);
  // What follows is about the file as a whole and would be merged into the program's module.
  for (const char* name : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable* list = hooks.getNamedGlobal(name)) list->eraseFromParent();
  while (!hooks.named_metadata_empty()) hooks.eraseNamedMetadata(&*hooks.named_metadata_begin());
  for (Function& function : hooks) {
    AttrBuilder kept(hooks.getContext());
    // Of a hook's attributes only what is about calling it matters here; processor, frame pointer, stack
    // protector and the like are the calling function's own business.
    for (Attribute::AttrKind kind : {Attribute::NoUnwind, Attribute::Cold, Attribute::NoInline})
      if (function.hasFnAttribute(kind)) kept.addAttribute(kind);
    function.setAttributes(function.getAttributes()
                               .removeFnAttributes(hooks.getContext())
                               .addFnAttributes(hooks.getContext(), kept));
    function.setComdat(nullptr);
    if (function.isDeclaration()) continue;
    function.removeFnAttr(Attribute::NoInline);
    if (!function.hasLocalLinkage()) function.setLinkage(GlobalValue::AvailableExternallyLinkage);
    for (BasicBlock& block : function)
      for (Instruction& instruction : block)
        if (auto* call = dyn_cast<CallInst>(&instruction)) call->addFnAttr(Attribute::NoMerge);
  }
}

}  // namespace

Result<std::unique_ptr<Module>> parse_hooks(LLVMContext& context, StringRef bitcode) {
  Expected<std::unique_ptr<Module>> parsed = parseBitcodeFile(MemoryBufferRef(bitcode, "hooks"), context);
  if (!parsed) return Error{"the hooks' bitcode is unreadable: " + toString(parsed.takeError())};
  prepare(**parsed);
  return std::move(*parsed);
}

// A slow path keeps the caller's registers. The dynamic linker, which runs before it when a shared library
// calls it for the first time, does not keep those that no argument is ever in: it must have been bound
// before.
static void bind_early(Module& hooks) {
  for (Function& function : hooks)
    if (function.getCallingConv() == CallingConv::PreserveMost) function.addFnAttr(Attribute::NonLazyBind);
}

Status inline_hooks(Module& module, StringRef bitcode, Statistics& statistics) {
  Result<std::unique_ptr<Module>> hooks = parse_hooks(module.getContext(), bitcode);
  if (!hooks) return hooks.error();
  bind_early(**hooks);
  (*hooks)->setTargetTriple(module.getTargetTriple());
  (*hooks)->setDataLayout(module.getDataLayout());
  if (Linker::linkModules(module, std::move(*hooks), Linker::LinkOnlyNeeded))
    return Error{"the hooks' bitcode does not link with module " + module.getModuleIdentifier()};
  inline_linked_hooks(module, statistics);
  return Nothing{};
}

void address_runtime_directly(Module& module) {
  bool const may_be_of_library =
      module.getPICLevel() != PICLevel::NotPIC && module.getPIELevel() == PIELevel::Default;
  if (may_be_of_library) return;
  for (GlobalObject& object : module.global_objects())
    if (object.isDeclaration() && Hooks::is_hook_name(object.getName())) object.setDSOLocal(true);
}

// What is not optimised has a place on the stack for each value of an inlined hook: recursion that fits
// otherwise would not. A call is as fast there as the instructions. Frames are few values, and worth it.
static bool stays_a_call(const CallInst& call) {
  const StringRef name = call.getCalledFunction()->getName();
  return call.getFunction()->hasOptNone() &&
         (name.starts_with("__dh_read") || name.starts_with("__dh_write"));
}

void inline_linked_hooks(Module& module, Statistics& statistics) {
  SmallVector<Function*, 64> hooks;
  SmallVector<CallInst*, 64> calls;
  for (Function& function : module) {
    if (!function.hasAvailableExternallyLinkage() || !Hooks::is_hook_name(function.getName())) continue;
    hooks.push_back(&function);
    for (User* user : function.users())
      if (auto* call = dyn_cast<CallInst>(user);
          call && call->getCalledFunction() == &function && !stays_a_call(*call))
        calls.push_back(call);
  }
  // Last call of a block first: inlining moves what follows the call to a new block, so that going backwards
  // moves every instruction once.
  DenseMap<const BasicBlock*, unsigned> block_order;
  for (Function& function : module)
    for (BasicBlock& block : function) block_order[&block] = block_order.size();
  sort(calls, [&](const CallInst* a, const CallInst* b) {
    if (a->getParent() != b->getParent()) return block_order[a->getParent()] < block_order[b->getParent()];
    return b->comesBefore(a);
  });
  for (CallInst* call : calls) {
    InlineFunctionInfo info;
    if (InlineFunction(*call, info, /*MergeAttributes=*/false, /*CalleeAAR=*/nullptr,
                       /*InsertLifetime=*/false)
            .isSuccess())
      ++statistics.inlined_hooks;
  }
  for (Function* hook : hooks) {
    if (hook->use_empty())
      hook->eraseFromParent();
    else
      hook->deleteBody();
  }
}

}  // namespace deadheat::instrument
