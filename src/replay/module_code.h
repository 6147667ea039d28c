// A module of the recorded program: its IR, its plan, and where everything in the plan is found.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "instrument/record/plan.h"
#include "recording/modules.h"

namespace deadheat::replay {

using instrument::record::FunctionPlan;
using instrument::record::ModulePlan;
using instrument::record::Point;
using instrument::record::PointKind;

// Where control goes on by a value: a conditional branch, a switch.
bool is_choice(const llvm::Instruction& instruction);

class ModuleCode {
 public:
  // `has_choices`: branches have sites too.
  static Result<std::unique_ptr<ModuleCode>> parse(recording::ModuleId id, const std::string& bitcode,
                                                   llvm::LLVMContext& context, bool has_choices = false);

  recording::ModuleId id() const { return id_; }
  llvm::Module& module() const { return *module_; }
  const ModulePlan& plan() const { return *plan_; }
  const FunctionPlan& function(std::size_t index) const { return plan_->functions()[index]; }
  // The pseudo address of site 0 (runtime/record_abi.h).
  std::uint64_t first_pseudo_address() const;

  std::optional<std::size_t> index_of(const llvm::Function& function) const;
  // In the table of the module's globals.
  std::optional<std::size_t> index_of(const llvm::GlobalValue& global) const;

  // Sites of the plan, and behind them those of ends of lives that are no points of it (local_lives.h), and
  // of choices.
  std::uint32_t site_count() const { return plan_->site_count() + static_cast<std::uint32_t>(ends_.size()); }
  // REQUIRES: one of unplanned_ends, or a choice.
  std::uint32_t site_of_end(const llvm::Instruction& end) const { return end_sites_.lookup(&end); }

  // Gives accesses that the optimiser took the line from one that a person recognises; once per function.
  void restore_lines(std::size_t function);

  // The point that a site number belongs to, null if none; `function` is its function's index.
  const Point* point_of(std::uint32_t site, std::size_t& function) const;

 private:
  ModuleCode() = default;

  recording::ModuleId id_;
  std::unique_ptr<llvm::Module> module_;
  std::unique_ptr<ModulePlan> plan_;
  llvm::DenseMap<const llvm::GlobalValue*, std::size_t> functions_;
  llvm::DenseMap<const llvm::GlobalValue*, std::size_t> globals_;
  llvm::DenseSet<std::size_t> restored_;
  std::vector<std::pair<Point, std::size_t>> ends_;  // with the index of the function
  llvm::DenseMap<const llvm::Instruction*, std::uint32_t> end_sites_;
  // Sites are numbered in the order of functions and points: the first site of each function that has any.
  std::vector<std::pair<std::uint32_t, std::size_t>> first_sites_;
};

}  // namespace deadheat::replay
