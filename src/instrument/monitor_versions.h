// Functions in two versions: with monitors, and without a trace of them.
//
// What a closed gate costs is what has to be as near to nothing as it can be: programs run with it closed
// most of the time. A look at the gate is two instructions, but one in every stretch of code adds up, and
// each is a block more that the code generator cannot see across. So a function that would look more than
// once gets a copy of its body, the plain version, that starts no monitors; the gate is looked at on entry,
// and one of the two versions runs.
//
//            entry: gate open? -----------------+
//              | no                             | yes
//        plain version                  monitored version
//        head of a long loop <--- closed --- its head
//                   |  ------ open ------>    |
//
// A thread may stay in one function for ever, so versions change where loops go round: on the edges back to
// the heads of loops that contain starts of monitors and may take long (long_loop_heads of the regions, and
// innermost ones that call something or stand alone), the gate is looked at again. Loops inside others that
// only compute run to their end in the version they were entered in; what is missed by that is sampled away.
//
// And they change behind calls that make threads, and behind every call in `main`: there the gate may have
// opened for the first time, and what follows may be all that this thread ever does.
//
// Two functions. Where versions never change in the middle (no such loop, no such call), the two are
// functions of their own: the one with the program's name is plain, and looks at the gate before it has a
// frame; while the gate is open it jumps to the other, `f.monitored`, which has the same arguments. So
// registers, frame and layout of the plain one are as they would be without the lane. A loop that calls its
// own function needs no change: the next call looks at the gate.
//
// The plain version still tells of releases and asks about invisible code: monitors may be active there,
// those of callers and callees. Only its returns need not ask, if nothing was called and no version changed:
// whoever entered without monitors leaves without.
//
// Values that are defined before such a head have two definitions behind it. They go through a stack slot
// each, which is promoted to a register again (mem2reg puts the phis where they belong).
//
// Tested by monitor_versions_test.cc; that both versions compute the same, by everything that is run with the
// lane.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include "instrument/monitor_placement.h"

namespace deadheat::instrument {

class FunctionVersions {
 public:
  // Blocks without one of `looks` (instructions before which the gate would be looked at) need no monitors.
  FunctionVersions(llvm::Function& function, const InterferenceFreeRegions& regions,
                   llvm::ArrayRef<const llvm::Instruction*> looks, llvm::LoopInfo& loops,
                   llvm::ScalarEvolution& evolution, llvm::DominatorTree& dominators);

  // Is a copy worth it, and can there be one?
  bool is_worth_it(bool asks_on_return) const;
  // Makes the plain version, and adds to `placement` what is to be told and asked there.
  // REQUIRES: nothing was emitted yet for `placement`.
  void copy(Placement& placement);
  // After everything was emitted: the ways from one version to the other.
  // REQUIRES: the plain version is no function of its own.
  void connect(llvm::GlobalVariable& gate);

  bool is_copied() const { return entry_ != nullptr; }
  // The plain version, if it is a function of its own.
  llvm::Function* plain_function() const { return plain_function_; }
  // The exits of the plain version that need not ask who they return to.
  bool is_quiet_exit(const llvm::BasicBlock& block) const { return quiet_exits_.contains(&block); }
  unsigned changes() const { return static_cast<unsigned>(heads_.size()); }

 private:
  struct Head {
    llvm::BasicBlock* block;
    llvm::SmallVector<llvm::Instruction*, 2> latches;  // the ends of the blocks from which versions change
  };

  bool can_be_copied() const;
  bool can_be_two_functions() const;
  void copy_blocks(llvm::SmallVectorImpl<llvm::BasicBlock*>& plain);
  bool is_change(const llvm::Loop& loop, const InterferenceFreeRegions& regions,
                 llvm::ArrayRef<const llvm::Instruction*> looks, llvm::ScalarEvolution& evolution) const;
  void find_openers(llvm::ArrayRef<const llvm::Instruction*> looks, const llvm::LoopInfo& loops);
  void find_crossing();
  void change_on_way_back(const Head& head, llvm::GlobalVariable& gate);
  void merge(llvm::Instruction& value, llvm::Instruction& plain);

  llvm::Function& function_;
  llvm::LoopInfo& loops_;
  llvm::DominatorTree& dominators_;
  unsigned looks_;
  llvm::SmallVector<llvm::CallInst*, 4>
      openers_;  // calls behind which the gate may be open for the first time
  llvm::SmallVector<Head, 4> heads_;
  llvm::SmallVector<llvm::Instruction*, 16> crossing_;  // may be used behind a head they are defined before
  llvm::ValueToValueMapTy map_;
  llvm::Function* plain_function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::BasicBlock* body_ = nullptr;  // the first block of the version with monitors
  llvm::SmallVector<llvm::AllocaInst*, 16> slots_;
  llvm::DenseSet<const llvm::BasicBlock*> quiet_exits_;
};

// `plain` takes the place of `monitored` in the module, and jumps to it while the gate is open.
// REQUIRES: everything was emitted in all functions of the module: what is known of them is known by address.
void connect_functions(llvm::Function& monitored, llvm::Function& plain, llvm::GlobalVariable& gate);

}  // namespace deadheat::instrument
