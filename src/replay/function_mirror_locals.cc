// Births and ends of locals in mirrored code, for observers.
#include "replay/abi.h"
#include "replay/function_mirror.h"
#include "replay/local_lives.h"

namespace deadheat::replay {

using namespace llvm;

Value* FunctionMirror::size_of_local(IRBuilder<>& builder, Value& variable) {
  const DataLayout& layout = module_.getDataLayout();
  if (auto* argument = dyn_cast<Argument>(&variable))
    return builder.getInt64(layout.getTypeAllocSize(argument->getParamByValType()).getFixedValue());
  auto& local = cast<AllocaInst>(variable);
  Value* const size = builder.getInt64(layout.getTypeAllocSize(local.getAllocatedType()).getKnownMinValue());
  if (!local.isArrayAllocation()) return size;
  Value* count = local.getArraySize();
  if (!isa<Constant>(count)) count = map_[count];
  return builder.CreateMul(size, builder.CreateZExtOrTrunc(count, builder.getInt64Ty()));
}

void FunctionMirror::begin_life(IRBuilder<>& builder, const Point& point, Value* address) {
  if (!tells_observers()) return;
  Value& variable = point.argument != nullptr ? *static_cast<Value*>(point.argument) : *point.instruction;
  hooks_.call(builder, "__dh_rep_local",
              {thread_, as_word(builder, address), size_of_local(builder, variable), site_value(point.site)});
}

void FunctionMirror::end_lives() {
  DenseMap<const Instruction*, uint32_t> sites;
  for (const Point& point : plan_.points)
    if (point.kind == PointKind::kDropped) sites[point.instruction] = point.site;
  for (const EndOfLife& end : ends_of_locals(plan_)) {
    IRBuilder<> builder(cast<Instruction>(map_[end.before]));
    const auto planned = sites.find(end.before);
    Value* const site = site_value(planned == sites.end() ? code_.site_of_end(*end.before) : planned->second);
    Value* const address = isa<Argument>(end.variable) ? by_value_[cast<Argument>(end.variable)]
                                                       : static_cast<Value*>(map_[end.variable]);
    hooks_.call(builder, "__dh_rep_local_end",
                {thread_, as_word(builder, address), size_of_local(builder, *end.variable), site});
  }
}

}  // namespace deadheat::replay
