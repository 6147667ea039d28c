// Local variables that are handed to a call, and checked only if somebody else may come to know them.
//
// A temporary is written, handed to a function by reference, and gone. Whether another thread can reach it
// depends on that function, which is known when it is called: if it has a version for arguments that its
// caller alone can reach (private_versions.h), that one is called, and the variable was private all along.
// Otherwise the variable is *exposed*: what was done to it so far is checked there and then, and what is done
// to it later is checked as usual, until its scope ends.
//
// Checked later is as good as checked at once if nothing is released in between: the record has the same
// label, and nobody could have found the variable before. So it is exposed as well before anything else
// between its first access and the call that may release. A variable qualifies if
//
//   - its address goes nowhere but into such calls, and between two of them its scope begins anew;
//   - the accesses that lead to a place where it may become exposed have been made, in this life, on all ways
//     that lead there.
//
// One flag per variable says whether it is exposed; in the source's loops most of them are constants once
// they have become values.
//
// What is given up is what is given up for every private variable (escape_analysis.h): who still accesses the
// one that had its place in the frame before, long after that has ended, races with its end, not with the
// new one.
//
// Tested by handed_down_test.cc.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/ValueHandle.h>

#include <optional>

#include "instrument/access_instrumenter.h"
#include "instrument/function_view.h"
#include "instrument/kept_variables.h"
#include "instrument/private_versions.h"
#include "instrument/statistics.h"

namespace deadheat::instrument {

class HandedDown {
 public:
  HandedDown(llvm::Function& function, EscapeAnalysis& escapes, const PrivateVersions& versions)
      : function_(function), escapes_(escapes), versions_(versions) {}

  // Chooses among the escaping variables, and takes the accesses of those out of `accesses`.
  // REQUIRES: the function is not instrumented yet.
  void choose(llvm::ArrayRef<llvm::AllocaInst*> escaping, AccessList& accesses,
              const SyncFreeFunctions& sync_free, const llvm::DominatorTree& dominators);

  // Accesses of the chosen variables, for optimisations within a block.
  AccessList& accesses() { return accesses_; }

  // Checks them where they are exposed, and calls versions. Blocks are split.
  void emit(AccessInstrumenter& instrumenter, const KeptVariables& kept, Statistics& statistics);

  // Where to do what is to be done before `before` about `variable` only if it is exposed now, or, with
  // `ever`, if it ever was. `before` itself for variables that were not chosen.
  llvm::Instruction* where_exposed(const llvm::AllocaInst& variable, bool ever, llvm::Instruction& before);

  // The places before which a chosen variable becomes exposed; none if it was not chosen.
  std::optional<llvm::ArrayRef<llvm::Instruction*>> exposures_of(const llvm::AllocaInst& variable) const;

  // The flags become values.
  void finish();

 private:
  // Where a variable becomes exposed, and the accesses (numbers) that have been made by then.
  struct Place {
    llvm::Instruction* instruction;
    ArgumentMask argument;  // as which it is handed to this call
    llvm::SmallVector<size_t, 4> accesses;
  };
  struct Variable {
    llvm::AllocaInst* variable = nullptr;
    llvm::SmallVector<llvm::Instruction*, 2> starts;  // of its scope; none: it is the function's
    llvm::SmallVector<Place, 2> calls;
    llvm::SmallVector<Place, 2> releases;  // before a call
    llvm::AllocaInst* exposed = nullptr;   // flags
    llvm::AllocaInst* ever_exposed = nullptr;
    llvm::SmallVector<llvm::Instruction*, 4> exposures;  // what asks whether it is
  };
  struct Choice {
    ArgumentMask handed = 0;
    ArgumentMask arguments = 0;  // handed or private
  };
  class Candidate;

  std::optional<Variable> plan(llvm::AllocaInst& variable, const Candidate& candidate,
                               const AccessList& accesses, llvm::ArrayRef<llvm::Instruction*> releases,
                               const llvm::DominatorTree& dominators) const;
  bool may_ask(const llvm::CallBase& call) const;
  bool may_choose(const llvm::CallBase& call, ArgumentMask handed);
  ArgumentMask private_of(const llvm::CallBase& call, ArgumentMask handed);
  void make_flags(Variable& variable, bool is_kept);
  void expose(Variable& variable, const Place& place, llvm::Instruction& before,
              AccessInstrumenter& instrumenter);
  void call_version(llvm::CallBase& call, ArgumentMask arguments, AccessInstrumenter& instrumenter);

  llvm::Function& function_;
  EscapeAnalysis& escapes_;
  const PrivateVersions& versions_;
  llvm::MapVector<const llvm::AllocaInst*, Variable> variables_;
  llvm::MapVector<llvm::CallBase*, Choice> calls_;
  AccessList accesses_;
  llvm::SmallVector<llvm::AllocaInst*, 8> flags_;
  llvm::SmallVector<llvm::WeakTrackingVH, 8> conditions_;  // what is computed from flags
  llvm::SmallVector<llvm::WeakVH, 16> guards_;             // branches that ask one
};

// Direct calls of functions that have a version, with what is private anyhow: they call the version.
void call_private_versions(llvm::Function& function, EscapeAnalysis& escapes, const PrivateVersions& versions,
                           Statistics& statistics);

}  // namespace deadheat::instrument
