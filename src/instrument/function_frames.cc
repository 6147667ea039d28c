#include "instrument/function_frames.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace deadheat::instrument {

using namespace llvm;

namespace {

struct VariableNames {
  std::string name;
  std::string file;
  unsigned line = 0;
};

// "guard.addr.i12" is the compiler's name for what the source calls "guard".
std::string source_name(StringRef name) {
  for (bool changed = true; changed;) {
    changed = false;
    const size_t dot = name.rfind('.');
    if (dot == StringRef::npos || dot == 0) break;
    StringRef suffix = name.substr(dot + 1);
    const bool is_inlined = suffix.consume_front("i") && suffix.find_if_not(isDigit) == StringRef::npos;
    if (is_inlined || name.ends_with(".addr")) {
      name = name.take_front(dot);
      changed = true;
    }
  }
  return name.str();
}

VariableNames names_of(AllocaInst& variable) {
  VariableNames names;
  const auto take = [&](const DILocalVariable* described) {
    names.name = described->getName().str();
    names.file = described->getFilename().str();
    names.line = described->getLine();
  };
  for (DbgVariableRecord* record : findDVRDeclares(&variable)) take(record->getVariable());
  if (names.name.empty())
    for (DbgDeclareInst* declare : findDbgDeclares(&variable)) take(declare->getVariable());
  if (!names.name.empty()) return names;
  names.name = source_name(variable.getName());
  if (const DISubprogram* function = variable.getFunction()->getSubprogram()) {
    names.file = function->getFilename().str();
    names.line = function->getLine();
  }
  return names;
}

// Calls that go on with another stack, in ways that the runtime does not see: meanwhile others have made
// their frames the innermost ones, perhaps without end.
bool switches_stacks(const CallBase& call) {
  const Function* const callee = call.getCalledFunction();
  return callee && StringSwitch<bool>(callee->getName())
                       .Cases("jump_fcontext", "ontop_fcontext", true)  // Boost.Context
                       .Default(false);
}

// Functions end where they return, or where an exception passes through them.
SmallVector<Instruction*, 8> exits(Function& function) {
  SmallVector<Instruction*, 8> found;
  for (BasicBlock& block : function) {
    if (CallInst* call = block.getTerminatingMustTailCall())
      found.push_back(call);
    else if (isa<ReturnInst>(block.getTerminator()) || isa<ResumeInst>(block.getTerminator()))
      found.push_back(block.getTerminator());
  }
  return found;
}

}  // namespace

bool FunctionFrames::has_calls(const Function& function) {
  for (const Instruction& instruction : instructions(function)) {
    const auto* call = dyn_cast<CallBase>(&instruction);
    if (call && !call->isInlineAsm() && !isa<IntrinsicInst>(call)) return true;
  }
  return false;
}

Constant* FunctionFrames::describe(Function& function, ArrayRef<AllocaInst*> variables) {
  Module& module = *function.getParent();
  LLVMContext& context = module.getContext();
  const DataLayout& layout = module.getDataLayout();
  Type* const pointer = PointerType::getUnqual(context);
  Type* const i32 = Type::getInt32Ty(context);
  Type* const i64 = Type::getInt64Ty(context);
  const auto make_private = [&](Constant* initialiser, const Twine& name) {
    auto* global = new GlobalVariable(module, initialiser->getType(), /*isConstant=*/true,
                                      GlobalValue::PrivateLinkage, initialiser, name);
    global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    return global;
  };
  const auto make_string = [&](StringRef text) -> Constant* {
    return make_private(ConstantDataArray::getString(context, text), "__dh_name");
  };

  // DhVariableInfo and DhFrameInfo of runtime/abi.h.
  StructType* const variable_info = StructType::get(context, {pointer, pointer, i32, i32});
  SmallVector<Constant*, 8> rows;
  for (AllocaInst* variable : variables) {
    const VariableNames names = names_of(*variable);
    const uint64_t size = variable->getAllocationSize(layout)->getFixedValue();
    rows.push_back(ConstantStruct::get(
        variable_info, {make_string(names.name), make_string(names.file), ConstantInt::get(i32, names.line),
                        ConstantInt::get(i32, static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX)))}));
  }
  Constant* const table =
      make_private(ConstantArray::get(ArrayType::get(variable_info, rows.size()), rows), "__dh_variables");
  StructType* const frame_info = StructType::get(context, {pointer, pointer, i64});
  return make_private(ConstantStruct::get(frame_info, {make_string(PrivateVersions::name_of(function)), table,
                                                       ConstantInt::get(i64, rows.size())}),
                      "__dh_frame_info");
}

Value* FunctionFrames::enter(Function& function, ArrayRef<AllocaInst*> variables,
                             ArrayRef<AllocaInst*> sharing, FrameTable& table) {
  BasicBlock& entry = function.getEntryBlock();
  for (AllocaInst* variable : reverse(variables)) variable->moveBefore(entry, entry.begin());

  BasicBlock::iterator first = entry.begin();
  while (isa<AllocaInst>(*first)) ++first;
  IRBuilder<> builder(&entry, first);
  if (DISubprogram* subprogram = function.getSubprogram())
    builder.SetCurrentDebugLocation(
        DILocation::get(function.getContext(), subprogram->getScopeLine(), 0, subprogram));
  Value* const return_address = builder.CreateIntrinsic(Intrinsic::returnaddress, {}, {builder.getInt32(0)});
  if (variables.empty()) return hooks_.call(builder, "__dh_enter", builder.getPtrTy(), {return_address});

  table = FrameTable(builder, variables, sharing);
  return hooks_.call(builder, "__dh_enter_with_variables", builder.getPtrTy(),
                     {return_address, table.addresses(), describe(function, variables)});
}

void FunctionFrames::begin_lives(const SharedPlaces& places, const FrameTable& table, HandedDown& handed) {
  for (AllocaInst* variable : places.variables()) {
    if (const auto exposures = handed.exposures_of(*variable)) {
      for (Instruction* exposure : *exposures) table.begin(*variable, *exposure);
      continue;
    }
    for (User* user : variable->users())
      if (auto* marker = dyn_cast<LifetimeIntrinsic>(user);
          marker && marker->getIntrinsicID() == Intrinsic::lifetime_start)
        table.begin(*variable, *marker->getNextNode());
  }
  for (const SharedPlaces::SecondReturn& second : places.second_returns())
    for (AllocaInst* variable : second.not_alive) table.not_yet(*variable, *second.after);
}

void FunctionFrames::end(StringRef hook, AllocaInst& variable, Instruction& before) {
  IRBuilder<> builder(&before);
  builder.SetCurrentDebugLocation(location_of(before));
  const DataLayout& layout = before.getDataLayout();
  Value* size = builder.getInt64(layout.getTypeAllocSize(variable.getAllocatedType()).getFixedValue());
  if (variable.isArrayAllocation())
    size = builder.CreateMul(size, builder.CreateZExtOrTrunc(variable.getArraySize(), builder.getInt64Ty()));
  hooks_.call(builder, hook, {&variable, size});
}

void FunctionFrames::end_scopes(AllocaInst& kept, HandedDown& handed) {
  for (User* user : make_early_inc_range(kept.users())) {
    auto* const marker = dyn_cast<LifetimeIntrinsic>(user);
    if (!marker) continue;
    if (marker->getIntrinsicID() == Intrinsic::lifetime_end)
      end("__dh_end_of_scope", kept, *handed.where_exposed(kept, /*ever=*/false, *marker));
    // Nothing else may have its place in the frame.
    marker->eraseFromParent();
  }
}

void FunctionFrames::end_lives(Function& function, ArrayRef<AllocaInst*> escaping, const KeptVariables& kept,
                               const FrameTable& table, HandedDown& handed) {
  SmallVector<Instruction*, 8> const leaving = exits(function);
  SmallVector<Instruction*, 4> restores;
  std::optional<DominatorTree> dominators;
  for (AllocaInst* variable : escaping) {
    const bool is_kept = kept.contains(variable);
    if (is_kept) end_scopes(*variable, handed);
    const auto end_life = [&](Instruction& before) {
      Instruction& place = *handed.where_exposed(*variable, is_kept, before);
      end("__dh_end_of_life", *variable, place);
      if (table.is_changing(*variable)) table.end(*variable, place);
    };
    SmallVector<Instruction*, 4> scope_ends;
    for (User* user : variable->users())
      if (auto* marker = dyn_cast<IntrinsicInst>(user);
          marker && marker->getIntrinsicID() == Intrinsic::lifetime_end)
        scope_ends.push_back(marker);
    if (!scope_ends.empty()) {
      for (Instruction* scope_end : scope_ends) end_life(*scope_end);
      continue;
    }
    if (variable->isStaticAlloca()) {
      for (Instruction* exit : leaving) end_life(*exit);
      continue;
    }
    // Variable-sized: gone where the stack is cut back, or where the function ends after it.
    if (!dominators) {
      dominators.emplace(function);
      for (Instruction& instruction : instructions(function))
        if (auto* call = dyn_cast<IntrinsicInst>(&instruction);
            call && call->getIntrinsicID() == Intrinsic::stackrestore)
          restores.push_back(call);
    }
    const auto is_after = [&](Instruction* instruction) {
      return dominators->dominates(variable, instruction);
    };
    bool restored = false;
    for (Instruction* restore : restores) {
      // A save taken after the variable was made does not end it.
      const auto* save = dyn_cast<Instruction>(cast<CallBase>(restore)->getArgOperand(0));
      if (!is_after(restore) || (save && dominators->dominates(variable, save))) continue;
      end_life(*restore);
      restored = true;
    }
    if (restored) continue;
    for (Instruction* exit : leaving)
      if (is_after(exit)) end_life(*exit);
  }
}

void FunctionFrames::run(Function& function, ArrayRef<AllocaInst*> escaping, const KeptVariables& kept,
                         HandedDown& handed) {
  ++statistics_.frames;
  SmallVector<Instruction*, 8> landings;
  SmallVector<InvokeInst*, 2> switching;
  for (Instruction& instruction : instructions(function)) {
    if (isa<LandingPadInst>(instruction)) {
      landings.push_back(&*instruction.getParent()->getFirstInsertionPt());
    } else if (auto* call = dyn_cast<CallInst>(&instruction);
               call && (call->hasFnAttr(Attribute::ReturnsTwice) || switches_stacks(*call))) {
      landings.push_back(call->getNextNode());
    } else if (auto* invoke = dyn_cast<InvokeInst>(&instruction); invoke && switches_stacks(*invoke)) {
      switching.push_back(invoke);
    }
  }
  for (InvokeInst* invoke : switching) {
    BasicBlock* const after = SplitEdge(invoke->getParent(), invoke->getNormalDest());
    landings.push_back(&*after->getFirstInsertionPt());
  }
  SmallVector<AllocaInst*, 8> variables;
  SmallVector<AllocaInst*, 8> scoped;  // a kept one has its place as long as the function
  for (AllocaInst* variable : escaping) {
    if (!variable->isStaticAlloca()) continue;
    variables.push_back(variable);
    if (!kept.contains(variable)) scoped.push_back(variable);
  }
  const SharedPlaces places(function, scoped, [&](const AllocaInst& variable) {
    return handed.exposures_of(variable).has_value();
  });
  FrameTable table;
  // In this order, because a landing may be an exit at the same time: resume, end lives, leave.
  Value* const frame = enter(function, variables, places.variables(), table);
  begin_lives(places, table, handed);
  for (Instruction* landing : landings) {
    IRBuilder<> builder(landing);
    builder.SetCurrentDebugLocation(location_of(*landing));
    hooks_.call(builder, "__dh_resume", {frame});
  }
  end_lives(function, escaping, kept, table, handed);
  for (Instruction* exit : exits(function)) {
    IRBuilder<> builder(exit);
    builder.SetCurrentDebugLocation(location_of(*exit));
    hooks_.call(builder, "__dh_leave", {frame});
  }
}

}  // namespace deadheat::instrument
