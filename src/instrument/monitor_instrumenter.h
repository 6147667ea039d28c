// Puts a placement of monitors into a function: looks at the gate, starts behind it, and the places where the
// runtime is told of releases or asked about invisible code. docs/monitor.md shows what it looks like.
#pragma once

#include "instrument/hooks.h"
#include "instrument/monitor_placement.h"
#include "instrument/monitor_versions.h"
#include "instrument/statistics.h"

namespace deadheat::instrument {

class MonitorInstrumenter {
 public:
  MonitorInstrumenter(llvm::Module& module, Hooks& hooks, Statistics& statistics);

  // The loop pass leaves checks of whole arrays before their loops, as the watch lane's hooks: they become
  // monitors.
  void take_loop_checks(llvm::Function& function);

  // The instructions before which the gate is looked at. REQUIRES: take_loop_checks was called.
  std::vector<const llvm::Instruction*> looks(const Placement& placement) const;

  // REQUIRES: take_loop_checks was called for it. Returns whether anything was added.
  bool run(llvm::Function& function, const InterferenceFreeRegions& regions, const Placement& placement,
           const FunctionVersions& versions);

  static bool may_return_to_strangers(const llvm::Function& function);

  llvm::GlobalVariable& gate() { return *gate_; }

  // After hooks were inlined: what they read is in the executable itself, where the module allows to know
  // that.
  void make_direct();

 private:
  struct LoopCheck {
    llvm::Instruction* place;  // before it
    llvm::DebugLoc line;
    AccessKind kind;
    llvm::SmallVector<llvm::Value*, 4> arguments;  // address; size; stride; count
  };

  llvm::Instruction* behind_gate(llvm::Instruction& place, const llvm::DebugLoc& line);
  llvm::Value* what(llvm::IRBuilderBase& builder, AccessKind kind, uint64_t size, bool prompt);
  void start(llvm::Instruction& before, const Bytes& bytes, const Start& about_what, const char* hook);
  void start(llvm::Instruction& before, const LoopCheck& check);
  void mark_returns(llvm::Function& function, const FunctionVersions& versions);

  llvm::Module& module_;
  Hooks& hooks_;
  Statistics& statistics_;
  llvm::GlobalVariable* gate_;
  unsigned next_place_;
  llvm::MapVector<llvm::Instruction*, llvm::SmallVector<LoopCheck, 1>> loop_checks_;
};

}  // namespace deadheat::instrument
