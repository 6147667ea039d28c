// Versions of functions for callers who alone can reach what the arguments point to.
//
// C++ hands small locals down by reference: a slice to a comparison, a key to a look-up. The callee does not
// know whose memory it reads, so it checks; and the caller cannot know that the callee keeps nothing, if the
// call is virtual or the callee is in another file, so it checks what it writes there, too, and ends the
// variable's life. None of that can ever show a race.
//
// So a function that does nothing with some of its pointer arguments but to access memory, exists twice: as
// usual, and as a version in which what those arguments point to counts as private (escape_analysis.h). The
// first announces the second to whoever calls it through a pointer, in 16 bytes right before its entry: the
// distance to the version, and a tag that names the arguments. Who calls an unknown function with such locals
// (handed_down.h) looks for the tag. Code of other compilers, and functions that do let go, have none.
//
// Not `this`: objects that have methods called are seldom locals nobody else knows. Not what is accessed
// atomically: atomic operations are always told to the runtime. A version of a function that several files
// define is found by name, so the name says which arguments it is for: what the optimiser found out may
// differ from file to file.
//
// Tested by private_versions_test.cc.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace deadheat::instrument {

// Bit i: argument i.
using ArgumentMask = uint32_t;
inline constexpr unsigned kMaxArguments = 16;

// The arguments of `function` that it accesses memory through and lets go of nowhere.
ArgumentMask private_arguments(const llvm::Function& function);

class PrivateVersions {
 public:
  struct Version {
    llvm::Function* function = nullptr;
    ArgumentMask arguments = 0;
  };

  // Makes the versions of those of `functions` that are worth it. REQUIRES: none is instrumented yet.
  explicit PrivateVersions(llvm::ArrayRef<llvm::Function*> functions);

  // In a version, the arguments that count as private; 0 in other functions.
  ArgumentMask arguments_of(const llvm::Function& version) const { return arguments_.lookup(&version); }
  // The version of a function of this module, if there is one.
  Version version_of(const llvm::Function& function) const { return versions_.lookup(&function); }
  llvm::SmallVector<llvm::Function*, 16> functions() const;
  // What people know a function or its version by.
  static llvm::StringRef name_of(const llvm::Function& function) {
    return function.getName().split(kSuffix).first;
  }

  // Is the unknown function that `call` calls announced to have a version for just these arguments? An i1.
  static llvm::Value* emit_question(llvm::IRBuilderBase& builder, const llvm::CallBase& call,
                                    ArgumentMask arguments);
  // That version. REQUIRES: the answer was yes.
  static llvm::Value* emit_version(llvm::IRBuilderBase& builder, const llvm::CallBase& call);

 private:
  static constexpr llvm::StringLiteral kSuffix = ".dh_private_";

  void add(llvm::Function& function, ArgumentMask arguments);

  llvm::MapVector<const llvm::Function*, Version> versions_;
  llvm::DenseMap<const llvm::Function*, ArgumentMask> arguments_;
};

}  // namespace deadheat::instrument
