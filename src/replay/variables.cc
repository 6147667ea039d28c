#include "replay/variables.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IntrinsicInst.h>

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

LocalPlace local_of(const Program& program, SiteId site) {
  const SitePlace where = program.place_of(site);
  if (where.instance == nullptr || where.instance->code == nullptr) return {};
  std::size_t index = 0;
  const Point* const point = where.instance->code->point_of(where.site, index);
  if (point == nullptr) return {};
  LocalPlace place;
  llvm::Value* const local =
      point->argument != nullptr ? static_cast<llvm::Value*>(point->argument) : point->instruction;
  const auto take = [&](const llvm::DILocalVariable* described) {
    place = {described->getName().str(), described->getFilename().str(), described->getLine()};
  };
  for (llvm::DbgVariableRecord* record : llvm::findDVRDeclares(local)) take(record->getVariable());
  if (place.name.empty())
    for (llvm::DbgDeclareInst* declare : llvm::findDbgDeclares(local)) take(declare->getVariable());
  if (place.name.empty()) {
    // Optimised code follows the value in pieces; they agree on the variable.
    llvm::SmallVector<llvm::DbgValueInst*, 4> values;
    llvm::SmallVector<llvm::DbgVariableRecord*, 4> records;
    llvm::findDbgValues(values, local, &records);
    for (const llvm::DbgVariableRecord* record : records) take(record->getVariable());
    for (const llvm::DbgValueInst* value : values) take(value->getVariable());
  }
  return place;
}

}  // namespace deadheat::replay
