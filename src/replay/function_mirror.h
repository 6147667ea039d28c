// How mirror.h is done: one object mirrors one function.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include "instrument/hooks.h"
#include "instrument/record/pieces.h"
#include "replay/mirror.h"

namespace deadheat::replay {

// Of what is said about parameters and results, only what decides how they are passed.
llvm::AttributeList passing_attributes(llvm::LLVMContext& context, llvm::AttributeList all,
                                       std::size_t parameters);

class FunctionMirror {
 public:
  FunctionMirror(const ModuleCode& code, std::size_t index, Variant variant, Predictor predictor,
                 llvm::Module& module);
  Status run();

 private:
  // A copy of the function without debug information, exceptions' personality and attributes that no longer
  // hold.
  void clone();
  void enter();
  void mirror_point(const Point& point);
  void mirror_opaque(const Point& point);
  void count_instructions();
  void mark_unreachable();
  void make_adapter();

  // function_mirror_accesses.cc
  void mirror_load(llvm::LoadInst& load, llvm::Value* site);
  llvm::Value* word_loads(llvm::IRBuilder<>& builder, llvm::LoadInst& load, llvm::Value* base,
                          llvm::ArrayRef<instrument::record::Piece> pieces, llvm::Value* site);
  llvm::Value* wide_load(llvm::IRBuilder<>& builder, llvm::LoadInst& load, llvm::Value* base,
                         llvm::ArrayRef<instrument::record::Piece> pieces, llvm::Value* site);
  void mirror_store(llvm::StoreInst& store, llvm::Value* site, bool is_vtable);
  void wide_store(llvm::IRBuilder<>& builder, llvm::StoreInst& store, llvm::Value* base,
                  llvm::ArrayRef<llvm::Value*> words, llvm::Value* site);
  void mirror_memory(llvm::MemIntrinsic& intrinsic, llvm::Value* site);
  // One access of the image for all words.
  bool is_wide(llvm::Type* type, const llvm::SmallVector<instrument::record::Piece, 4>& pieces) const;
  // The predictor's bytes; `offset` is within it.
  llvm::Value* image_at(llvm::IRBuilder<>& builder, llvm::Value* offset);

  // function_mirror_copies.cc
  void make_copies();
  llvm::Value* value_hook(llvm::IRBuilder<>& builder, llvm::StringRef name,
                          llvm::ArrayRef<llvm::Value*> arguments, llvm::Type* result = nullptr);
  bool is_counting(const llvm::CallBase& call) const;
  void keep_copies();
  void flush_where_no_hook_is();

  // function_mirror_globals.cc
  Status replace_globals();
  llvm::Value* materialise(llvm::Instruction* before, llvm::Constant* constant);
  static bool refers_to_globals(const llvm::Constant* constant);

  // function_mirror_live.cc
  llvm::Value* fresh_memory(llvm::IRBuilder<>& builder, const Point& point, llvm::Value* from,
                            llvm::Value* size);
  llvm::Value* dynamic_local(llvm::IRBuilder<>& builder, const Point& point, llvm::AllocaInst& local);
  void show_operands(llvm::IRBuilder<>& builder, llvm::Instruction& instruction, const Point& point);
  llvm::Value* by_value(llvm::IRBuilder<>& builder, const Point& point, llvm::Value* passed);
  void show_arguments(llvm::IRBuilder<>& builder, llvm::CallBase& call);

  // function_mirror_atomics.cc
  void mirror_atomic(llvm::Instruction& instruction, llvm::Value* site);
  llvm::Value* wide_atomic(llvm::IRBuilder<>& builder, llvm::Value* address, llvm::Value* expected,
                           llvm::Value* desired, unsigned operation, llvm::Type* type, llvm::Value* site);

  bool tells_observers() const { return variant_ == Variant::kObserved || variant_ == Variant::kLabelled; }
  void add_labels();  // labelled only (function_labels.h)

  // function_mirror_locals.cc: observed only, births and ends of locals are told.
  void begin_life(llvm::IRBuilder<>& builder, const Point& point, llvm::Value* address);
  void end_lives();
  llvm::Value* size_of_local(llvm::IRBuilder<>& builder, llvm::Value& variable);

  // function_mirror_calls.cc
  void mirror_call(const Point& point);
  void pass_arguments(llvm::IRBuilder<>& builder, llvm::CallBase& call);
  void mirror_setjmp(const Point& point);
  void mirror_landing(const Point& point);
  void mirror_resume(const Point& point);
  // Takes a call or invoke out of its block: what followed it is in `tail`, and `caught` (invokes only) leads
  // to its landing pad. The block has no terminator then.
  struct Cut {
    llvm::BasicBlock* block;
    llvm::BasicBlock* tail;
    llvm::BasicBlock* caught;  // null if not an invoke
  };
  Cut cut(llvm::CallBase& call);
  llvm::Value* call_native(llvm::IRBuilder<>& builder, llvm::CallBase& call, llvm::Value* code);
  // After a call: goes to `on_unwinding` if the thread is unwinding; `builder` is where it is not.
  void settle(llvm::IRBuilder<>& builder, llvm::BasicBlock* on_unwinding, bool is_invoke);
  llvm::BasicBlock* unwinding_block(const Cut& cut);
  llvm::BasicBlock* leave_block();
  void set_depth(llvm::IRBuilder<>& builder, llvm::Value* depth);

  llvm::Value* field(llvm::IRBuilder<>& builder, std::size_t offset);
  llvm::Value* site_value(std::uint32_t site);
  llvm::Value* opaque(llvm::IRBuilder<>& builder, std::uint32_t site, llvm::Type* type,
                      llvm::Value* key = nullptr);
  llvm::Value* as_word(llvm::IRBuilder<>& builder, llvm::Value* pointer);
  llvm::Constant* external(const char* name);

  const ModuleCode& code_;
  const std::size_t index_;
  const FunctionPlan& plan_;
  const Variant variant_;
  const Predictor predictor_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  instrument::Hooks hooks_;
  llvm::ValueToValueMapTy map_;
  llvm::Function* function_ = nullptr;
  llvm::DenseMap<const llvm::Argument*, llvm::Value*> by_value_;  // the addresses that the log has
  llvm::Value* thread_ = nullptr;
  llvm::SmallVector<llvm::Value*, 4> copies_;  // the thread and the variables of DH_REPLAY_COPIES
  llvm::Value* depth_ = nullptr;               // of the function: functions with invokes or setjmp only
  llvm::Value* frame_ = nullptr;               // height of the shadow stack
  llvm::Value* site_base_ = nullptr;           // not in bare code
  llvm::BasicBlock* leave_ = nullptr;
  llvm::Value* arguments_ = nullptr;  // live only: a buffer
  std::size_t argument_capacity_ = 0;
  std::string problem_;
};

}  // namespace deadheat::replay
