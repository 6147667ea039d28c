// Where the variables of a frame are: an array of addresses on the stack, by which a report finds the name of
// a local of another thread.
//
// Locals whose scopes do not overlap may get one place in the frame (LLVM's stack colouring), so an address
// alone does not say which of them is meant. For these the array is kept up to date: an address is there
// from the start of the scope on (`llvm.lifetime.start`); from its end on it is there as ended, for a report
// about somebody who comes too late. That is one store for each, and it pins the place: code generation
// makes a scope as short as it can, but no shorter than the use of its address.
//
// Everything else is written once, when the function is entered, and costs nothing more: variables without
// markers, which have a place of their own, and those whose scopes overlap all others. Writing the address
// outside of the scope makes code generation take the markers by their word.
//
// After a second return (setjmp) scopes that had not begun by then have not begun again, although nothing has
// ended them.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

namespace deadheat::instrument {

class FrameTable {
 public:
  // A row for each of `variables`. Those of `changing` may be told to begin and end; the others are there all
  // the time. REQUIRES: the variables stand before `builder`'s place, in the entry block.
  FrameTable(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::AllocaInst*> variables,
             llvm::ArrayRef<llvm::AllocaInst*> changing);
  FrameTable() = default;

  llvm::Value* addresses() const { return addresses_; }
  bool is_changing(const llvm::AllocaInst& variable) const { return rows_.contains(&variable); }

  // What is so from `before` on. REQUIRES: the variable is changing.
  void begin(llvm::AllocaInst& variable, llvm::Instruction& before) const;
  void end(llvm::AllocaInst& variable, llvm::Instruction& before) const;
  void not_yet(llvm::AllocaInst& variable, llvm::Instruction& before) const;

 private:
  llvm::Value* row(llvm::IRBuilder<>& builder, unsigned number) const;

  llvm::Value* addresses_ = nullptr;
  llvm::Type* type_ = nullptr;
  llvm::MapVector<const llvm::AllocaInst*, unsigned> rows_;  // of those that change
};

// Which of the variables may get a place that another of them has as well. As in code generation, that is if
// neither is alive where the scope of the other begins: where ways meet, such as those of exceptions that
// have ended nothing, both may count as alive.
class SharedPlaces {
 public:
  // Those that `begins_later`, told only after the start of their scope, are not pinned to it: if there is
  // one among them, everything with a scope may have its place.
  SharedPlaces(llvm::Function& function, llvm::ArrayRef<llvm::AllocaInst*> variables,
               llvm::function_ref<bool(const llvm::AllocaInst&)> begins_later);

  llvm::ArrayRef<llvm::AllocaInst*> variables() const { return sharing_; }
  // The places right after calls that return twice, and the variables whose scope has not begun there.
  struct SecondReturn {
    llvm::Instruction* after;
    llvm::SmallVector<llvm::AllocaInst*, 4> not_alive;
  };
  llvm::ArrayRef<SecondReturn> second_returns() const { return second_returns_; }

 private:
  llvm::SmallVector<llvm::AllocaInst*, 8> sharing_;
  llvm::SmallVector<SecondReturn, 2> second_returns_;
};

}  // namespace deadheat::instrument
