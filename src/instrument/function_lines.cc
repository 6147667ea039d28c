#include "instrument/function_lines.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/DebugInfoMetadata.h>

namespace deadheat::instrument {

using namespace llvm;

namespace {

bool has_lines_alone(const DICompileUnit& unit) {
  return unit.getEmissionKind() == DICompileUnit::LineTablesOnly && !unit.getDebugInfoForProfiling();
}

DICompileUnit* for_profiling(const DICompileUnit& unit) {
  return DICompileUnit::getDistinct(
      unit.getContext(), unit.getSourceLanguage(), unit.getFile(), unit.getRawProducer(), unit.isOptimized(),
      unit.getRawFlags(), unit.getRuntimeVersion(), unit.getRawSplitDebugFilename(), unit.getEmissionKind(),
      unit.getRawEnumTypes(), unit.getRawRetainedTypes(), unit.getRawGlobalVariables(),
      unit.getRawImportedEntities(), unit.getRawMacros(), unit.getDWOId(), unit.getSplitDebugInlining(),
      /*DebugInfoForProfiling=*/true, static_cast<unsigned>(unit.getNameTableKind()),
      unit.getRangesBaseAddress(), unit.getRawSysRoot(), unit.getRawSDK());
}

}  // namespace

void keep_function_lines(Module& module) {
  NamedMDNode* const units = module.getNamedMetadata("llvm.dbg.cu");
  if (!units) return;
  DenseMap<const DICompileUnit*, DICompileUnit*> replaced;
  for (unsigned i = 0; i < units->getNumOperands(); ++i) {
    const auto* const unit = dyn_cast<DICompileUnit>(units->getOperand(i));
    if (!unit || !has_lines_alone(*unit)) continue;
    replaced[unit] = for_profiling(*unit);
    units->setOperand(i, replaced[unit]);
  }
  if (replaced.empty()) return;
  for (Function& function : module) {
    DISubprogram* const described = function.getSubprogram();
    if (!described || !replaced.contains(described->getUnit())) continue;
    described->replaceUnit(replaced[described->getUnit()]);
    if (described->getLinkageName().empty() && described->getName() != function.getName())
      described->replaceLinkageName(MDString::get(module.getContext(), function.getName()));
  }
}

}  // namespace deadheat::instrument
