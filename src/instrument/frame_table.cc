#include "instrument/frame_table.h"

#include <llvm/Analysis/StackLifetime.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "runtime/abi.h"

namespace deadheat::instrument {

using namespace llvm;

FrameTable::FrameTable(IRBuilder<>& builder, ArrayRef<AllocaInst*> variables,
                       ArrayRef<AllocaInst*> changing) {
  BasicBlock& entry = *builder.GetInsertBlock();
  type_ = ArrayType::get(builder.getPtrTy(), variables.size());
  IRBuilder<> at_top(&entry, entry.begin());
  addresses_ = at_top.CreateAlloca(type_, nullptr, "__dh_addresses");
  for (unsigned i = 0; i < variables.size(); ++i) {
    AllocaInst* const variable = variables[i];
    // An odd address says that its life has ended.
    variable->setAlignment(std::max(variable->getAlign(), Align(2)));
    Value* address = builder.CreatePointerBitCastOrAddrSpaceCast(variable, builder.getPtrTy());
    if (is_contained(changing, variable)) {
      rows_[variable] = i;
      address = ConstantPointerNull::get(builder.getPtrTy());
    }
    builder.CreateStore(address, row(builder, i));
  }
}

Value* FrameTable::row(IRBuilder<>& builder, unsigned number) const {
  return builder.CreateConstInBoundsGEP2_64(type_, addresses_, 0, number);
}

void FrameTable::begin(AllocaInst& variable, Instruction& before) const {
  IRBuilder<> builder(&before);
  builder.CreateStore(builder.CreatePointerBitCastOrAddrSpaceCast(&variable, builder.getPtrTy()),
                      row(builder, rows_.lookup(&variable)));
}

void FrameTable::end(AllocaInst& variable, Instruction& before) const {
  IRBuilder<> builder(&before);
  Value* const address = builder.CreatePointerBitCastOrAddrSpaceCast(&variable, builder.getPtrTy());
  builder.CreateStore(builder.CreateConstGEP1_64(builder.getInt8Ty(), address, kDhEnded),
                      row(builder, rows_.lookup(&variable)));
}

void FrameTable::not_yet(AllocaInst& variable, Instruction& before) const {
  IRBuilder<> builder(&before);
  builder.CreateStore(ConstantPointerNull::get(builder.getPtrTy()), row(builder, rows_.lookup(&variable)));
}

namespace {

using Starts = SmallVector<const Instruction*, 2>;

}  // namespace

SharedPlaces::SharedPlaces(Function& function, ArrayRef<AllocaInst*> variables,
                           function_ref<bool(const AllocaInst&)> begins_later) {
  MapVector<AllocaInst*, Starts> starts;
  for (AllocaInst* variable : variables)
    for (const User* user : variable->users())
      if (const auto* marker = dyn_cast<LifetimeIntrinsic>(user);
          marker && marker->getIntrinsicID() == Intrinsic::lifetime_start)
        starts[variable].push_back(marker);
  if (starts.size() < 2) return;
  SmallVector<const AllocaInst*, 16> scoped;
  for (const auto& [variable, at] : starts) scoped.push_back(variable);
  // "May", as in code generation: what may be alive there has a place there.
  StackLifetime lives(function, scoped, StackLifetime::LivenessType::May);
  lives.run();
  const auto is_alive_where = [&](const AllocaInst* variable, const Starts& others) {
    return any_of(others, [&](const Instruction* start) {
      return lives.isReachable(start) && lives.isAliveAfter(variable, start);
    });
  };
  const auto shares = [&](const auto& one) {
    return any_of(starts, [&](const auto& other) {
      return one.first != other.first && !is_alive_where(one.first, other.second) &&
             !is_alive_where(other.first, one.second);
    });
  };
  bool is_any_later = false;
  for (const auto& one : starts) {
    if (!shares(one)) continue;
    sharing_.push_back(one.first);
    is_any_later |= begins_later(*one.first);
  }
  if (is_any_later) {
    sharing_.clear();
    for (const auto& one : starts) sharing_.push_back(one.first);
  }
  if (sharing_.empty() || !function.callsFunctionThatReturnsTwice()) return;
  for (Instruction& instruction : instructions(function)) {
    auto* const call = dyn_cast<CallInst>(&instruction);
    if (!call || !call->hasFnAttr(Attribute::ReturnsTwice) || !lives.isReachable(call)) continue;
    SecondReturn second{call->getNextNode(), {}};
    for (AllocaInst* variable : sharing_)
      if (!lives.isAliveAfter(variable, call)) second.not_alive.push_back(variable);
    second_returns_.push_back(second);
  }
}

}  // namespace deadheat::instrument
