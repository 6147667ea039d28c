// Puts the recording hooks into one function.
#pragma once

#include "instrument/hooks.h"
#include "instrument/record/plan.h"

namespace deadheat::instrument::record {

class FunctionRecorder {
 public:
  // `first_site` is the module's DH_OPAQUE_BASE + ...; call caches are shared by the module.
  FunctionRecorder(Hooks& hooks, llvm::Module& module, const ModulePlan& plan, uint64_t first_site)
      : hooks_(hooks), module_(module), plan_(plan), first_site_(first_site) {}

  void run(const FunctionPlan& plan);
  // After inlining: the copies of all functions become registers.
  void promote_copies();

 private:
  void record(const Point& point);
  void record_load(llvm::LoadInst& load);
  void record_store(llvm::StoreInst& store);
  void record_memory(llvm::MemIntrinsic& intrinsic);
  void record_atomic(llvm::Instruction& instruction);
  llvm::Value* wide_atomic(llvm::IRBuilder<>& builder, llvm::Value* address, llvm::Value* expected,
                           llvm::Value* desired, unsigned operation, llvm::AtomicOrdering order,
                           llvm::Type* type);
  void record_call(const Point& point, bool may_be_invisible);
  void record_setjmp(const Point& point);
  void record_landing(const Point& point);
  // Logs the pieces of `value`, which no replay can compute.
  void opaque(llvm::IRBuilder<>& builder, uint32_t site, llvm::Value* value, llvm::Value* key = nullptr);
  void access(llvm::IRBuilder<>& builder, const char* kind, llvm::Value* pointer, llvm::Align align,
              llvm::Value* value);
  // Calls a value hook with the function's copies.
  llvm::Value* value_hook(llvm::IRBuilder<>& builder, const llvm::Twine& name,
                          llvm::ArrayRef<llvm::Value*> arguments, llvm::Type* result = nullptr);
  void make_copies(llvm::Function& function);
  // Behind every call that may have changed what the copies are of.
  void reload_behind_calls(llvm::Function& function);
  // Where what follows `instruction` on its normal way goes; for an invoke a block of its own.
  llvm::Instruction* behind(llvm::Instruction& instruction);
  llvm::Value* cache_of(const llvm::CallBase& call);

  Hooks& hooks_;
  llvm::Module& module_;
  const ModulePlan& plan_;
  uint64_t first_site_;
  llvm::DenseMap<const llvm::Value*, llvm::GlobalVariable*> caches_;
  // Of the function at hand.
  llvm::Value* depth_ = nullptr;
  llvm::SmallVector<llvm::Value*, 3> copies_;
  std::vector<llvm::WeakTrackingVH> all_copies_;
};

// Makes `function` notice that it was called from invisible code. `address` stands for the function's own
// address.
void add_callback_check(Hooks& hooks, llvm::Function& function, llvm::Constant* address);

// A copy of `function` as it is now, for when recording has ended. Before anything is put into it.
llvm::Function* plain_copy(llvm::Function& function);
// Not a function with variable arguments on a processor with AVX: LLVM 19 hands them on by overwriting the
// stack. It records to nowhere then, which is slower and right.
bool may_hand_over(const llvm::Function& function);
// Makes `function` hand over to its plain copy where nothing is recorded.
void add_off_switch(Hooks& hooks, llvm::Function& function, llvm::Function& plain);

}  // namespace deadheat::instrument::record
