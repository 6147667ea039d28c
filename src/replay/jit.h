// From a mirrored module to machine code: hooks inlined, a few clean-up passes, LLVM's code generator, ORC's
// linker.
#pragma once

#include <llvm/ExecutionEngine/Orc/LLJIT.h>

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "replay/mirror.h"
#include "replay/object_cache.h"

namespace deadheat::replay {

class Jit {
 public:
  static Result<std::unique_ptr<Jit>> create(Variant variant, Predictor predictor);
  ~Jit();

  llvm::LLVMContext& context() { return *context_; }
  // A name space for one instance's functions; the symbols of mirror.h get these addresses.
  Result<llvm::orc::JITDylib*> add_library(const std::string& name, void* instance, void* code,
                                           void* globals);

  struct Code {
    void* function;
    Adapter* adapter;
    bool is_cached;
  };
  Result<Code> compile(llvm::orc::JITDylib& library, const ModuleCode& code, std::size_t index);
  ObjectCache& cache() { return cache_; }

 private:
  struct CleanUp;

  Jit(Variant variant, Predictor predictor);
  Result<std::unique_ptr<llvm::MemoryBuffer>> generate(const ModuleCode& code, std::size_t index);

  const Variant variant_;
  const Predictor predictor_;
  ObjectCache cache_;
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> hooks_;  // copied for every function
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<CleanUp> clean_up_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace deadheat::replay
