#include "replay/jit.h"

#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "instrument/inline_hooks.h"
#include "replay/hook_bitcode.h"
#include "replay/live/live_hooks.h"
#include "replay/slow_hooks.h"

namespace deadheat::replay {

using namespace llvm;
using namespace llvm::orc;

namespace {

Error to_error(const char* what, llvm::Error error) {
  return Error{std::string("replay: ") + what + ": " + llvm::toString(std::move(error))};
}

// A function compiled for a richer processor than this one would end in an illegal instruction.
Status check_processor(const Function& function) {
  static const StringMap<bool> host = sys::getHostCPUFeatures();
  SmallVector<StringRef, 32> features;
  function.getFnAttribute("target-features").getValueAsString().split(features, ',');
  for (StringRef feature : features) {
    if (!feature.consume_front("+")) continue;
    const auto found = host.find(feature);
    if (found != host.end() && !found->second)
      return Error{"replay: function " + function.getName().str() + " was compiled for a processor with " +
                   feature.str() + ", which this machine does not have"};
  }
  return Nothing{};
}

}  // namespace

Result<std::unique_ptr<Jit>> Jit::create(Variant variant, Predictor predictor) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  std::unique_ptr<Jit> jit(new Jit(variant, predictor));
  jit->context_ = std::make_unique<LLVMContext>();
  Result<std::unique_ptr<Module>> hooks =
      instrument::parse_hooks(*jit->context_, hook_bitcode(variant, predictor));
  if (!hooks) return hooks.error();
  jit->hooks_ = std::move(*hooks);
  JITTargetMachineBuilder builder{Triple(sys::getProcessTriple())};
  // Functions say themselves which processor they were compiled for.
  builder.setRelocationModel(Reloc::PIC_);
  // The program's own code was optimised before it was recorded; what the higher levels add (scheduling, loop
  // strength reduction) takes longer than it saves.
  builder.setCodeGenOptLevel(CodeGenOptLevel::Less);
  Expected<std::unique_ptr<TargetMachine>> machine = builder.createTargetMachine();
  if (!machine) return to_error("no code generator for this machine", machine.takeError());
  jit->machine_ = std::move(*machine);
  jit->clean_up_ = std::make_unique<CleanUp>(*jit->machine_);
  // Mirrored code has no constructors, no thread-local variables and never unwinds: nothing needs a platform.
  Expected<std::unique_ptr<LLJIT>> created = LLJITBuilder()
                                                 .setJITTargetMachineBuilder(builder)
                                                 .setNumCompileThreads(0)
                                                 .setPlatformSetUp(setUpInactivePlatform)
                                                 .create();
  if (!created) return to_error("no just-in-time compiler for this machine", created.takeError());
  jit->jit_ = std::move(*created);
  SymbolMap symbols;
  const auto define = [&](const char* name, void* address) {
    symbols[jit->jit_->mangleAndIntern(name)] = {ExecutorAddr::fromPtr(address),
                                                 JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  };
  for (const SlowHook& hook : slow_hooks()) define(hook.name, is_bare(variant) ? hook.bare : hook.observed);
  if (variant == Variant::kLive)
    for (const LiveHook& hook : live_hooks()) define(hook.name, hook.address);
  JITDylib& main = jit->jit_->getMainJITDylib();
  if (llvm::Error error = main.define(absoluteSymbols(std::move(symbols))))
    return to_error("hooks", std::move(error));
  // What the code generator itself calls: 128-bit division, fmod and the like.
  auto process =
      DynamicLibrarySearchGenerator::GetForCurrentProcess(jit->jit_->getDataLayout().getGlobalPrefix());
  if (!process) return to_error("symbols of this process", process.takeError());
  main.addGenerator(std::move(*process));
  return jit;
}

Result<JITDylib*> Jit::add_library(const std::string& name, void* instance, void* code, void* globals) {
  Expected<JITDylib&> library = jit_->createJITDylib(name);
  if (!library) return to_error("a module's name space", library.takeError());
  const auto data = [](void* address) {
    return ExecutorSymbolDef{ExecutorAddr::fromPtr(address), JITSymbolFlags::Exported};
  };
  if (llvm::Error error =
          library->define(absoluteSymbols({{jit_->mangleAndIntern(kInstanceSymbol), data(instance)},
                                           {jit_->mangleAndIntern(kCodeSymbol), data(code)},
                                           {jit_->mangleAndIntern(kGlobalsSymbol), data(globals)}})))
    return to_error("a module's tables", std::move(error));
  library->addToLinkOrder(jit_->getMainJITDylib());
  return &*library;
}

// What inlined hooks leave behind: conversions to words and back, blocks that only jump.
struct Jit::CleanUp {
  explicit CleanUp(TargetMachine& machine) : builder(&machine) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    FunctionPassManager passes;
    passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/false));
    passes.addPass(InstCombinePass());
    passes.addPass(SimplifyCFGPass());
    all.addPass(createModuleToFunctionPassAdaptor(std::move(passes)));
  }
  void run(Module& module) {
    all.run(module, modules);
    loops.clear();
    functions.clear();
    components.clear();
    modules.clear();
  }

  PassBuilder builder;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  ModulePassManager all;
};

Jit::Jit(Variant variant, Predictor predictor)
    : variant_(variant), predictor_(predictor), cache_(variant, hook_bitcode(variant, predictor)) {}
Jit::~Jit() = default;

Result<std::unique_ptr<MemoryBuffer>> Jit::generate(const ModuleCode& code, std::size_t index) {
  const std::unique_ptr<Module> mirrored = CloneModule(*hooks_);
  Module& module = *mirrored;
  if (Status status = mirror(code, index, variant_, predictor_, module); !status) return status.error();
  instrument::Statistics statistics;
  instrument::inline_linked_hooks(module, statistics);
  promote_copies(module, index);
  static const bool verify = std::getenv("DEADHEAT_REPLAY_VERIFY") != nullptr;
  if (verify) {
    std::string problem;
    raw_string_ostream stream(problem);
    if (verifyModule(module, &stream)) return Error{"replay: mirrored function is malformed: " + problem};
  }
  // After a jump, locals of the function that called setjmp are what they were in memory; passes that keep
  // them in registers would differ from the recorded run.
  bool has_setjmp = false;
  for (const Point& point : code.function(index).points) has_setjmp |= point.kind == PointKind::kSetjmp;
  if (!has_setjmp) clean_up_->run(module);
  Expected<std::unique_ptr<MemoryBuffer>> object = SimpleCompiler(*machine_)(module);
  if (!object) return to_error("code generator", object.takeError());
  return std::move(*object);
}

Result<Jit::Code> Jit::compile(JITDylib& library, const ModuleCode& code, std::size_t index) {
  if (Status status = check_processor(*code.function(index).function); !status) return status.error();
  std::unique_ptr<MemoryBuffer> object = cache_.find(code.id(), index);
  bool is_cached = object != nullptr;
  if (!is_cached) {
    Result<std::unique_ptr<MemoryBuffer>> generated = generate(code, index);
    if (!generated) return generated.error();
    object = std::move(*generated);
    cache_.put(code.id(), index, object->getBuffer());
  }
  if (llvm::Error error = jit_->addObjectFile(library, std::move(object))) {
    // Damaged in the cache, then: what is made anew is not.
    if (!is_cached) return to_error("linker", std::move(error));
    consumeError(std::move(error));
    is_cached = false;
    Result<std::unique_ptr<MemoryBuffer>> generated = generate(code, index);
    if (!generated) return generated.error();
    cache_.put(code.id(), index, (*generated)->getBuffer());
    if (llvm::Error again = jit_->addObjectFile(library, std::move(*generated)))
      return to_error("linker", std::move(again));
  }
  Expected<ExecutorAddr> function = jit_->lookup(library, code_symbol(index));
  if (!function) return to_error("linker", function.takeError());
  Expected<ExecutorAddr> adapter = jit_->lookup(library, adapter_symbol(index));
  if (!adapter) return to_error("linker", adapter.takeError());
  return Code{function->toPtr<void*>(), adapter->toPtr<Adapter*>(), is_cached};
}

}  // namespace deadheat::replay
