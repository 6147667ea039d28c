#include "replay/variables.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/GlobalVariable.h>

namespace deadheat::replay {

std::optional<GlobalPlace> global_at(const Program& program, Address address) {
  for (std::uint32_t number = 0; number < program.instance_count(); ++number) {
    const Instance& instance = program.instance(number);
    if (instance.code == nullptr) continue;
    const auto& globals = instance.code->plan().globals();
    const llvm::DataLayout& layout = instance.code->module().getDataLayout();
    for (std::size_t i = 0; i < globals.size() && i < instance.globals.size(); ++i) {
      const auto* const global = llvm::dyn_cast<llvm::GlobalVariable>(globals[i]);
      if (global == nullptr || !global->getValueType()->isSized()) continue;
      const std::uint64_t size = layout.getTypeAllocSize(global->getValueType()).getFixedValue();
      if (address.value() - instance.globals[i] >= size) continue;
      return GlobalPlace{llvm::demangle(global->getName().str()), Address(instance.globals[i]), size};
    }
  }
  return std::nullopt;
}

}  // namespace deadheat::replay
