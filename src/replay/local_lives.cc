#include "replay/local_lives.h"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <optional>

namespace deadheat::replay {

using namespace llvm;
using instrument::record::FunctionPlan;
using instrument::record::Point;
using instrument::record::PointKind;

namespace {

bool is_exit(const Instruction& instruction) {
  return isa<ReturnInst>(instruction) || isa<ResumeInst>(instruction);
}

bool is_restore(const Instruction& instruction) {
  const auto* const call = dyn_cast<IntrinsicInst>(&instruction);
  return call != nullptr && call->getIntrinsicID() == Intrinsic::stackrestore;
}

bool has_locals(const FunctionPlan& plan) {
  return std::any_of(plan.points.begin(), plan.points.end(), [](const Point& point) {
    return point.kind == PointKind::kLocal || point.kind == PointKind::kByValue;
  });
}

}  // namespace

SmallVector<Instruction*, 8> unplanned_ends(const FunctionPlan& plan) {
  SmallVector<Instruction*, 8> found;
  if (!has_locals(plan)) return found;
  for (Instruction& instruction : instructions(*plan.function))
    if (is_exit(instruction) || is_restore(instruction)) found.push_back(&instruction);
  return found;
}

SmallVector<EndOfLife, 8> ends_of_locals(const FunctionPlan& plan) {
  SmallVector<EndOfLife, 8> ends;
  const SmallVector<Instruction*, 8> places = unplanned_ends(plan);
  const auto at_exits = [&](Value& variable, auto&& counts) {
    for (Instruction* place : places)
      if (is_exit(*place) && counts(place)) ends.push_back({&variable, place});
  };
  const auto always = [](Instruction*) { return true; };
  std::optional<DominatorTree> dominators;
  for (const Point& point : plan.points) {
    if (point.kind == PointKind::kByValue) at_exits(*point.argument, always);
    if (point.kind != PointKind::kLocal) continue;
    auto& local = *cast<AllocaInst>(point.instruction);
    bool has_scope = false;
    for (User* user : local.users())
      if (auto* marker = dyn_cast<IntrinsicInst>(user);
          marker != nullptr && marker->getIntrinsicID() == Intrinsic::lifetime_end) {
        ends.push_back({&local, marker});
        has_scope = true;
      }
    if (has_scope) continue;
    if (local.isStaticAlloca()) {
      at_exits(local, always);
      continue;
    }
    if (!dominators) dominators.emplace(*plan.function);
    const auto is_after = [&](Instruction* place) { return dominators->dominates(&local, place); };
    bool is_restored = false;
    for (Instruction* place : places) {
      if (!is_restore(*place) || !is_after(place)) continue;
      // A save taken after the variable was made does not end it.
      const auto* const save = dyn_cast<Instruction>(cast<CallBase>(place)->getArgOperand(0));
      if (save != nullptr && dominators->dominates(&local, save)) continue;
      ends.push_back({&local, place});
      is_restored = true;
    }
    if (!is_restored) at_exits(local, is_after);
  }
  return ends;
}

}  // namespace deadheat::replay
