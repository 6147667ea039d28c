// The recorded program's code: its modules as they were loaded, and mirrored machine code for their
// functions, made when first needed.
#pragma once

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "recording/reader.h"
#include "replay/abi.h"
#include "replay/jit.h"
#include "replay/module_code.h"
#include "replay/observer.h"

namespace deadheat::replay {

class Program;

// A module at the addresses of one loading.
struct Instance {
  std::uint32_t number = 0;
  const recording::Module* module = nullptr;
  ModuleCode* code = nullptr;  // null until needed
  DhInstance header{};
  std::vector<std::uint64_t> globals;
  std::vector<void*> functions;  // mirrored code by index, null until needed
  std::vector<Adapter*> adapters;
  std::vector<Address> addresses;  // recorded, 0 where the linker chose another copy
  llvm::orc::JITDylib* library = nullptr;
  Program* program = nullptr;
};

struct SitePlace {
  const Instance* instance = nullptr;
  std::uint32_t site = 0;  // of the module's plan
};

class Program {
 public:
  static Result<std::unique_ptr<Program>> load(const recording::Reader& recording, Variant variant,
                                               Predictor predictor);
  ~Program();

  // Known once code_at was asked for it.
  bool returns_nothing(Address function) const;
  // Null: no function of the program starts at this address. Compiles if need be; an error is in `status`.
  void* code_at(Address function, Status& status);
  Adapter* adapter_at(Address function, Status& status);
  void* compile(Instance& instance, std::size_t index, Status& status);

  // All modules, whether their code has run or not.
  Status prepare_all();
  // Leave nothing behind from now on.
  void make_cache_read_only() { jit_->cache().make_read_only(); }

  // The module and site that a SiteId stands for.
  SitePlace place_of(SiteId site) const;
  const Instance& instance(std::uint32_t number) const { return *instances_[number]; }
  std::uint32_t instance_count() const { return static_cast<std::uint32_t>(instances_.size()); }
  // The function that starts at an address, if any.
  const FunctionId* function_at(Address address) const;
  std::uint64_t compiled_functions() const { return compiled_; }
  std::uint64_t cached_functions() const { return cached_; }
  double compile_seconds() const { return compile_seconds_; }
  // Asked from a signal handler.
  bool is_compiling() const { return is_compiling_ != 0; }

 private:
  Program() = default;
  Status prepare(Instance& instance);

  Variant variant_ = Variant::kBare;
  std::vector<recording::ModuleLoading> loadings_;
  std::unique_ptr<Jit> jit_;
  std::unordered_map<std::uint64_t, std::unique_ptr<ModuleCode>> modules_;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::unordered_map<std::uint64_t, FunctionId> functions_;
  std::vector<const Instance*> by_site_;  // in the order of their site_base
  std::uint64_t next_site_ = 1;           // 0 is "nowhere"
  std::uint64_t compiled_ = 0;
  std::uint64_t cached_ = 0;
  double compile_seconds_ = 0;
  volatile std::sig_atomic_t is_compiling_ = 0;
};

}  // namespace deadheat::replay
