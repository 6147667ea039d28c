// The plan of a module: every place where a recording and its replay must agree.
//
// Recording and replaying are two passes over the same IR (src/instrument/record/recorder.h and
// src/replay/mirror.h). What one logs the other reads, so both must see the same points, in the same order
// and with the same numbers. This file is the one place where that is decided; the two passes only say what
// happens at a point. The plan is a function of the IR alone: it must not depend on addresses, use lists or
// anything else that a round trip through bitcode changes.
//
// The rule behind all kinds: whatever replay cannot recompute from the log, the recorder logs; what it can is
// left alone.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <string>
#include <vector>

namespace deadheat::instrument::record {

enum class PointKind : uint8_t {
  kLoad,         // a plain load of memory that other code may write
  kStore,        // a plain store to such memory
  kCopy,         // memcpy, memmove: loads and stores, word by word
  kFill,         // memset
  kLocal,        // an alloca whose address leaves the function's registers: the address is logged
  kByValue,      // an argument passed by value on the stack (`argument`): the address of the copy is logged
  kAtomic,       // load, store, read-modify-write, compare-exchange, fence
  kCall,         // call or invoke of something that may be invisible: known only when it runs
  kVisibleCall,  // call or invoke of a function of this module that is in the plan
  kOpaque,       // a result from outside, with no code of the program's run meanwhile: asm, time stamps, TLS
                 // addresses
  kSetjmp,       // call or invoke of setjmp and its kin
  kLandingPad,   // an exception arrives
  kResume,       // and goes on
  kDropped,      // means nothing in a replay (lifetime of a kLocal, prefetch); nothing is logged
};

struct Point {
  PointKind kind;
  llvm::Instruction* instruction;  // null for kByValue
  llvm::Argument* argument;        // kByValue only
  // The number of the point's first value. A point has as many numbers as its value has pieces (pieces.h), at
  // least one.
  uint32_t site;
};

struct FunctionPlan {
  llvm::Function* function;
  std::vector<Point> points;  // in the order of the code; kByValue first
  bool has_invokes = false;
  // May be entered from code that is not in any plan: the recorder tests for a call-back at its start.
  bool is_enterable = false;
};

// Which locals no other code can see: every use is a direct load or store of the local's own bytes. Both
// passes leave them alone.
class PrivateLocals {
 public:
  bool contains(const llvm::AllocaInst& local);
  // Does `pointer` point into a private local?
  bool is_pointed_to_by(const llvm::Value& pointer);

 private:
  llvm::DenseMap<const llvm::AllocaInst*, bool> known_;
};

class ModulePlan {
 public:
  // Brings a module into the form that plans are made of; before its IR is saved. Twice is
  // as good as once.
  static void prepare(llvm::Module& module);
  // REQUIRES: prepared.
  explicit ModulePlan(llvm::Module& module);

  const std::vector<FunctionPlan>& functions() const { return functions_; }
  // What the code refers to by address, in the order of DhRecordModule::globals.
  const std::vector<llvm::GlobalValue*>& globals() const { return globals_; }
  bool contains(const llvm::Function& function) const { return planned_.contains(&function); }
  // Functions that have a body and are not in the plan, with the reason: to recording and replay they are
  // invisible code. For --deadheat-stats and the documentation.
  const std::vector<std::pair<const llvm::Function*, std::string>>& left_out() const { return left_out_; }
  uint32_t site_count() const { return next_site_; }
  // Fences that acquire what relaxed loads saw.
  bool has_acquiring_fences() const { return has_acquiring_fences_; }
  // What invisible code returns is predicted by where it was called and, if its first argument is a number,
  // by the lowest byte of that: what `tolower` makes of one letter says nothing of another. That argument;
  // null if there is none, or the module is older than this rule.
  llvm::Value* key_of(const llvm::CallBase& call) const;

 private:
  void plan(llvm::Function& function);
  void add(FunctionPlan& plan, PointKind kind, llvm::Instruction* instruction, llvm::Type* value = nullptr);
  void plan_call(FunctionPlan& plan, llvm::CallBase& call);
  void collect_globals(llvm::Module& module);

  PrivateLocals locals_;
  std::vector<FunctionPlan> functions_;
  std::vector<llvm::GlobalValue*> globals_;
  llvm::DenseSet<const llvm::Function*> planned_;
  std::vector<std::pair<const llvm::Function*, std::string>> left_out_;
  uint32_t next_site_ = 0;
  bool has_acquiring_fences_ = false;
  bool has_keys_ = false;
};

// The pseudo address by which a result is predicted: `site`'s own (runtime/record_abi.h, DH_OPAQUE_BASE),
// moved by the key, if there is one.
llvm::Value* place_of_result(llvm::IRBuilderBase& builder, uint64_t site, llvm::Value* key);

// Does control come back from this call in the ordinary way, at most? (setjmp: more than once.)
bool is_setjmp(const llvm::CallBase& call);

// Might this call, through a pointer, use the result of a function that has none? (kDhTargetReturnsNothing)
bool may_return_nothing(const llvm::CallBase& call);

// Is its target chosen when the program is loaded (ifunc)? Code and data may have different addresses of it,
// so it always counts as a call of invisible code, and what it calls as a call-back.
bool is_chosen_late(const llvm::CallBase& call);

// Does this alloca stand before everything else in its function? The addresses of those are logged together,
// behind the last of them.
bool is_leading(const llvm::AllocaInst& local);

// The DhAtomic (runtime/record_abi.h) of a read-modify-write. REQUIRES: prepared.
uint32_t operation_of(const llvm::AtomicRMWInst& operation);

}  // namespace deadheat::instrument::record
