#include "instrument/monitor_instrumenter.h"

#include <llvm/ADT/Hashing.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "instrument/sanitizer_marks.h"
#include "runtime/monitor_abi.h"

namespace deadheat::instrument {

using namespace llvm;

MonitorInstrumenter::MonitorInstrumenter(Module& module, Hooks& hooks, Statistics& statistics)
    : module_(module), hooks_(hooks), statistics_(statistics) {
  gate_ = cast<GlobalVariable>(
      module.getOrInsertGlobal("__dh_monitor_gate", Type::getInt64Ty(module.getContext())));
  // Places of different modules should not share their counters more than need be.
  next_place_ = static_cast<unsigned>(xxh3_64bits(module.getSourceFileName()));
}

void MonitorInstrumenter::take_loop_checks(Function& function) {
  loop_checks_.clear();
  SmallVector<CallInst*, 8> calls;
  for (Instruction& instruction : instructions(function)) {
    auto* call = dyn_cast<CallInst>(&instruction);
    const Function* callee = call ? call->getCalledFunction() : nullptr;
    if (callee && Hooks::is_hook_name(callee->getName())) calls.push_back(call);
  }
  for (CallInst* call : calls) {
    StringRef name = call->getCalledFunction()->getName();
    name.consume_front("__dh_");
    LoopCheck check;
    check.kind = name.consume_front("write") ? AccessKind::kWrite : AccessKind::kRead;
    name.consume_front("read");
    check.line = call->getDebugLoc();
    check.arguments.push_back(call->getArgOperand(0));
    uint64_t size = 0;
    if (!name.getAsInteger(10, size)) {
      check.arguments.push_back(ConstantInt::get(Type::getInt64Ty(module_.getContext()), size));
    } else {
      check.arguments.append(call->arg_begin() + 1, call->arg_end());
    }
    check.place = call->getNextNode();
    while (auto* next = dyn_cast<CallInst>(check.place)) {
      if (!is_contained(calls, next)) break;
      check.place = next->getNextNode();
    }
    while (isa<AllocaInst>(check.place)) check.place = check.place->getNextNode();
    loop_checks_[check.place].push_back(std::move(check));
  }
  for (CallInst* call : calls) call->eraseFromParent();
}

Instruction* MonitorInstrumenter::behind_gate(Instruction& place, const DebugLoc& line) {
  IRBuilder<> builder(&place);
  builder.SetCurrentDebugLocation(line);
  Value* const gate = builder.CreateLoad(builder.getInt64Ty(), gate_, "dh.gate");
  Value* const is_open = builder.CreateICmpNE(gate, builder.getInt64(0), "dh.open");
  Instruction* const behind = SplitBlockAndInsertIfThen(
      is_open, &place, /*Unreachable=*/false, MDBuilder(module_.getContext()).createUnlikelyBranchWeights());
  behind->getParent()->setName("dh.monitor");
  return behind;
}

Value* MonitorInstrumenter::what(IRBuilderBase& builder, AccessKind kind, uint64_t size, bool prompt) {
  uint32_t bits = next_place_++ & kDhMonitorPlaceMask;
  if (kind == AccessKind::kWrite) bits |= kDhMonitorStrong;
  if (prompt) bits |= kDhMonitorPrompt;
  if (size <= kDhMonitorMaxPoint) bits |= static_cast<uint32_t>(size) << kDhMonitorSizeShift;
  return builder.getInt32(bits);
}

void MonitorInstrumenter::start(Instruction& before, const Bytes& bytes, const Start& about_what,
                                const char* hook) {
  const Site& site = *about_what.site;
  IRBuilder<> builder(&before);
  builder.SetCurrentDebugLocation(site.line);
  auto* base = const_cast<Value*>(bytes.base);
  Value* const address = bytes.offset == 0
                             ? base
                             : builder.CreateGEP(builder.getInt8Ty(), base,
                                                 builder.getInt64(static_cast<uint64_t>(bytes.offset)));
  ++statistics_.checks;
  Value* const about = what(builder, site.kind, bytes.size, about_what.prompt);
  if (bytes.size <= kDhMonitorMaxPoint) {
    hooks_.call(builder, hook, {address, about});
  } else {
    hooks_.call(builder, "__dh_monitor_start_range", {address, builder.getInt64(bytes.size), about});
  }
}

void MonitorInstrumenter::start(Instruction& before, const LoopCheck& check) {
  IRBuilder<> builder(&before);
  builder.SetCurrentDebugLocation(check.line);
  ++statistics_.checks;
  SmallVector<Value*, 5> arguments(check.arguments.begin(), check.arguments.end());
  if (const auto* size = dyn_cast<ConstantInt>(arguments[1]);
      size && arguments.size() == 2 && size->getZExtValue() <= kDhMonitorMaxPoint) {
    hooks_.call(builder, "__dh_monitor_start",
                {arguments[0], what(builder, check.kind, size->getZExtValue(), false)});
    return;
  }
  arguments.push_back(what(builder, check.kind, 0, false));
  hooks_.call(builder, arguments.size() == 3 ? "__dh_monitor_start_range" : "__dh_monitor_start_strided",
              arguments);
}

bool MonitorInstrumenter::may_return_to_strangers(const Function& function) {
  if (!function.hasLocalLinkage() || function.hasAddressTaken()) return true;
  return any_of(function.users(), [](const User* user) {
    const auto* call = dyn_cast<CallBase>(user);
    if (!call) return false;
    const auto* direct = dyn_cast<CallInst>(call);
    return is_excluded(*call->getFunction()) || (direct && direct->isMustTailCall());
  });
}

std::vector<const Instruction*> MonitorInstrumenter::looks(const Placement& placement) const {
  SetVector<const Instruction*> found;
  for (const auto& [place, group] : placement.starts) found.insert(place);
  for (const auto& [place, checks] : loop_checks_) found.insert(place);
  for (const auto& [place, group] : placement.keeps) found.insert(place);
  const auto taken = found.takeVector();
  return {taken.begin(), taken.end()};
}

void MonitorInstrumenter::mark_returns(Function& function, const FunctionVersions& versions) {
  SmallVector<Instruction*, 4> exits;
  for (BasicBlock& block : function) {
    Instruction* exit = block.getTerminator();
    if (!isa<ReturnInst>(exit) && !isa<ResumeInst>(exit)) continue;
    if (versions.is_quiet_exit(block)) continue;
    if (CallInst* tail = block.getTerminatingMustTailCall()) exit = tail;
    exits.push_back(exit);
  }
  for (Instruction* exit : exits) {
    IRBuilder<> builder(exit);
    builder.SetCurrentDebugLocation(location_of(*exit));
    // Where an exception goes is not known.
    Value* const caller = isa<ResumeInst>(exit)
                              ? static_cast<Value*>(ConstantPointerNull::get(builder.getPtrTy()))
                              : builder.CreateIntrinsic(Intrinsic::returnaddress, {}, {builder.getInt32(0)});
    hooks_.call(builder, "__dh_monitor_returning", {caller});
  }
}

bool MonitorInstrumenter::run(Function& function, const InterferenceFreeRegions& regions,
                              const Placement& placement, const FunctionVersions& versions) {
  const bool has_calls = any_of(instructions(function), [](const Instruction& instruction) {
    return isa<CallBase>(instruction) && !isa<IntrinsicInst>(instruction);
  });
  const bool starts_any = !placement.starts.empty() || !placement.keeps.empty() || !loop_checks_.empty() ||
                          !placement.aheads.empty();
  if (!starts_any && !has_calls && placement.releases.empty()) return false;

  // In this order, each right before its instruction: what starts there, what is kept, and last what stops.
  MapVector<Instruction*, bool> places;
  for (const auto& [place, group] : placement.starts) places[place] = true;
  for (const auto& [place, checks] : loop_checks_) places[place] = true;
  for (const auto& [place, unused] : places) {
    const auto group = placement.starts.find(place);
    const auto checks = loop_checks_.find(place);
    const DebugLoc line =
        group != placement.starts.end() ? group->second.front().site->line : checks->second.front().line;
    Instruction* const behind = behind_gate(*place, line);
    if (group != placement.starts.end())
      for (const Start& one : group->second)
        start(*behind, regions.locations()[one.location], one, "__dh_monitor_start");
    if (checks != loop_checks_.end())
      for (const LoopCheck& check : checks->second) start(*behind, check);
  }
  // Most releases keep nothing: one question does for them.
  SmallPtrSet<const Instruction*, 8> told_of_both;
  for (Instruction* instruction : placement.releases)
    if (is_contained(placement.aheads, instruction) && !placement.keeps.count(instruction))
      told_of_both.insert(instruction);
  for (Instruction* instruction : placement.aheads) {
    if (told_of_both.contains(instruction)) continue;
    IRBuilder<> builder(instruction->getNextNode());
    builder.SetCurrentDebugLocation(location_of(*instruction));
    hooks_.call(builder, "__dh_monitor_kept", {});
    builder.SetInsertPoint(instruction);
    hooks_.call(builder, "__dh_monitor_ahead", {});
  }
  for (const auto& [instruction, group] : placement.keeps) {
    Instruction* const behind = behind_gate(*instruction, group.front().site->line);
    for (const Start& kept : group)
      start(*behind, regions.locations()[kept.location], kept, "__dh_monitor_keep");
  }
  for (Instruction* instruction : placement.releases) {
    IRBuilder<> builder(instruction);
    builder.SetCurrentDebugLocation(location_of(*instruction));
    hooks_.call(builder,
                told_of_both.contains(instruction) ? "__dh_monitor_release_ahead" : "__dh_monitor_release",
                {});
  }
  for (CallBase* call : placement.asks) {
    IRBuilder<> builder(call);
    builder.SetCurrentDebugLocation(location_of(*call));
    hooks_.call(builder, "__dh_monitor_calling", {call->getCalledOperand()});
  }
  for (CallBase* call : placement.whose) {
    IRBuilder<> builder(call);
    builder.SetCurrentDebugLocation(location_of(*call));
    hooks_.call(builder, "__dh_monitor_calling_known", {call->getCalledOperand()});
  }
  if (may_return_to_strangers(function)) {
    mark_returns(function, versions);
    if (versions.plain_function()) mark_returns(*versions.plain_function(), versions);
  }
  return true;
}

void MonitorInstrumenter::make_direct() {
  // Position-independent code may end in a shared library, where these are another file's.
  if (module_.getPICLevel() != PICLevel::NotPIC && module_.getPIELevel() == PIELevel::Default) return;
  for (const char* name : {"__dh_monitor_gate", "__dh_monitor_hot"}) {
    GlobalVariable* const variable = module_.getNamedGlobal(name);
    if (!variable) continue;
    variable->setDSOLocal(true);
    if (variable->isThreadLocal()) variable->setThreadLocalMode(GlobalValue::LocalExecTLSModel);
  }
}

}  // namespace deadheat::instrument
