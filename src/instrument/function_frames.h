// The shadow call stack, so that both sides of a report have a full stack.
//
// Every function that checks or calls something enters a frame first and leaves it before it returns. An
// exception that lands, and a call that returns twice, come back from frames that never left: `__dh_resume`
// makes this function's frame the innermost again. Variables whose address escapes are described in the frame
// (name, file, line, size), so that a report can name a stack variable of another thread (which of several
// that have one place: frame_table.h); their lives end
// with their scope (`llvm.lifetime.end`) where the compiler kept it, else with the function. What
// kept_variables.h finds is asked after at the end of its scope, and ends with the function. What
// handed_down.h has chosen ends only where it was exposed.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include "instrument/frame_table.h"
#include "instrument/handed_down.h"
#include "instrument/hooks.h"
#include "instrument/kept_variables.h"
#include "instrument/statistics.h"

namespace deadheat::instrument {

class FunctionFrames {
 public:
  FunctionFrames(Hooks& hooks, Statistics& statistics) : hooks_(hooks), statistics_(statistics) {}

  // Does anything in the function need to know where it is? REQUIRES: asked before the function is changed.
  static bool has_calls(const llvm::Function& function);

  // REQUIRES: everything else in the function is instrumented already.
  void run(llvm::Function& function, llvm::ArrayRef<llvm::AllocaInst*> escaping, const KeptVariables& kept,
           HandedDown& handed);

 private:
  llvm::Value* enter(llvm::Function& function, llvm::ArrayRef<llvm::AllocaInst*> variables,
                     llvm::ArrayRef<llvm::AllocaInst*> sharing, FrameTable& table);
  static void begin_lives(const SharedPlaces& places, const FrameTable& table, HandedDown& handed);
  void end_lives(llvm::Function& function, llvm::ArrayRef<llvm::AllocaInst*> escaping,
                 const KeptVariables& kept, const FrameTable& table, HandedDown& handed);
  void end_scopes(llvm::AllocaInst& kept, HandedDown& handed);
  void end(llvm::StringRef hook, llvm::AllocaInst& variable, llvm::Instruction& before);
  llvm::Constant* describe(llvm::Function& function, llvm::ArrayRef<llvm::AllocaInst*> variables);

  Hooks& hooks_;
  Statistics& statistics_;
};

}  // namespace deadheat::instrument
