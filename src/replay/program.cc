#include "replay/program.h"

#include <algorithm>

#include "replay/world.h"

namespace deadheat::replay {

Result<std::unique_ptr<Program>> Program::load(const recording::Reader& recording, Variant variant,
                                               Predictor predictor) {
  std::unique_ptr<Program> program(new Program);
  program->variant_ = variant;
  program->loadings_ = recording.modules();
  Result<std::unique_ptr<Jit>> jit = Jit::create(variant, predictor);
  if (!jit) return jit.error();
  program->jit_ = std::move(*jit);
  for (const recording::ModuleLoading& loading : program->loadings_) {
    std::unordered_map<std::uint64_t, Instance*> here;
    for (const recording::Module& module : loading.modules) {
      auto instance = std::make_unique<Instance>();
      instance->number = static_cast<std::uint32_t>(program->instances_.size());
      instance->module = &module;
      instance->program = program.get();
      instance->header.owner = instance.get();
      for (Address address : module.globals) instance->globals.push_back(address.value());
      here[module.id.value()] = instance.get();
      program->instances_.push_back(std::move(instance));
    }
    for (const recording::ModuleFunction& function : loading.functions) {
      const auto found = here.find(function.module.value());
      if (found == here.end())
        return Error{"recording " + recording.folder() + ": expected functions of the modules of loading " +
                     std::to_string(loading.number) + ", found one of " +
                     recording::to_string(function.module)};
      Instance& instance = *found->second;
      if (function.index >= std::uint64_t{1} << 24)
        return Error{"recording " + recording.folder() + ": function number " +
                     std::to_string(function.index) + " is too large"};
      if (instance.addresses.size() <= function.index) instance.addresses.resize(function.index + 1);
      instance.addresses[function.index] = function.address;
      program->functions_[function.address.value()] = {instance.number,
                                                       static_cast<std::uint32_t>(function.index)};
    }
  }
  return program;
}

Program::~Program() = default;

Status Program::prepare(Instance& instance) {
  if (instance.code != nullptr) return Nothing{};
  std::unique_ptr<ModuleCode>& code = modules_[instance.module->id.value()];
  if (code == nullptr) {
    Result<std::string> bitcode = recording::read_bitcode(*instance.module);
    if (!bitcode) return bitcode.error();
    Result<std::unique_ptr<ModuleCode>> parsed =
        ModuleCode::parse(instance.module->id, *bitcode, jit_->context(), variant_ == Variant::kLabelled);
    if (!parsed) return parsed.error();
    code = std::move(*parsed);
  }
  const std::size_t functions = code->plan().functions().size();
  const std::string name = recording::to_string(instance.module->id);
  if (code->plan().globals().size() != instance.globals.size())
    return Error{"module " + name + ": expected addresses of " +
                 std::to_string(code->plan().globals().size()) + " globals, found " +
                 std::to_string(instance.globals.size())};
  if (instance.addresses.size() > functions)
    return Error{"module " + name + ": expected at most " + std::to_string(functions) +
                 " functions, found number " + std::to_string(instance.addresses.size() - 1)};
  instance.addresses.resize(functions);
  instance.functions.resize(functions + 1);  // never empty: its address is a symbol
  instance.adapters.resize(functions);
  instance.globals.push_back(0);
  instance.header.site_base = next_site_;
  next_site_ += code->site_count();
  by_site_.push_back(&instance);
  Result<llvm::orc::JITDylib*> library =
      jit_->add_library(name + "." + std::to_string(instance.number), &instance.header,
                        instance.functions.data(), instance.globals.data());
  if (!library) return library.error();
  instance.library = *library;
  instance.code = code.get();
  return Nothing{};
}

Status Program::prepare_all() {
  for (const std::unique_ptr<Instance>& instance : instances_)
    if (Status status = prepare(*instance); !status) return status;
  return Nothing{};
}

void* Program::compile(Instance& instance, std::size_t index, Status& status) {
  if (instance.code != nullptr && instance.functions[index] != nullptr) return instance.functions[index];
  struct Busy {
    explicit Busy(volatile std::sig_atomic_t& flag) : flag_(flag) { flag_ = 1; }
    ~Busy() { flag_ = 0; }
    volatile std::sig_atomic_t& flag_;
  } const busy(is_compiling_);
  const double start = processor_seconds();
  if (Status prepared = prepare(instance); !prepared) {
    status = prepared;
    return nullptr;
  }
  if (index >= instance.adapters.size()) {
    status = Error{"module " + recording::to_string(instance.module->id) + " has no function " +
                   std::to_string(index)};
    return nullptr;
  }
  Result<Jit::Code> code = jit_->compile(*instance.library, *instance.code, index);
  if (!code) {
    status = code.error();
    return nullptr;
  }
  instance.functions[index] = code->function;
  instance.adapters[index] = code->adapter;
  ++(code->is_cached ? cached_ : compiled_);
  compile_seconds_ += processor_seconds() - start;
  return code->function;
}

void* Program::code_at(Address function, Status& status) {
  const FunctionId* const found = function_at(function);
  return found == nullptr ? nullptr : compile(*instances_[found->instance], found->index, status);
}

bool Program::returns_nothing(Address function) const {
  const FunctionId* const found = function_at(function);
  if (found == nullptr) return false;
  const Instance& instance = *instances_[found->instance];
  return instance.code != nullptr &&
         instance.code->plan().functions()[found->index].function->getReturnType()->isVoidTy();
}

Adapter* Program::adapter_at(Address function, Status& status) {
  const FunctionId* const found = function_at(function);
  if (found == nullptr) return nullptr;
  Instance& instance = *instances_[found->instance];
  return compile(instance, found->index, status) == nullptr ? nullptr : instance.adapters[found->index];
}

const FunctionId* Program::function_at(Address address) const {
  const auto found = functions_.find(address.value());
  return found == functions_.end() ? nullptr : &found->second;
}

SitePlace Program::place_of(SiteId site) const {
  const auto after = std::partition_point(by_site_.begin(), by_site_.end(), [&](const Instance* instance) {
    return instance->header.site_base <= site.value();
  });
  if (site.value() == 0 || after == by_site_.begin()) return {};
  const Instance* const instance = *std::prev(after);
  return {instance, site.value() - static_cast<std::uint32_t>(instance->header.site_base)};
}

}  // namespace deadheat::replay
