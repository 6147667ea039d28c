#include "instrument/monitor_loops.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

namespace deadheat::instrument {

using namespace llvm;

namespace {

constexpr unsigned kMaxInstructions = 400;

class LoopCopier {
 public:
  LoopCopier(Function& function, const InterferenceFreeRegions& regions, const Placement& placement,
             GlobalVariable& gate, LoopInfo& loops, DominatorTree& dominators, ScalarEvolution& evolution)
      : function_(function),
        regions_(regions),
        placement_(placement),
        gate_(gate),
        loops_(loops),
        dominators_(dominators),
        evolution_(evolution) {}

  unsigned run() {
    SmallVector<Loop*, 8> innermost;
    for (Loop* loop : loops_.getLoopsInPreorder())
      if (loop->isInnermost() && is_worth_it(*loop)) innermost.push_back(loop);
    unsigned count = 0;
    for (Loop* loop : innermost) {
      simplifyLoop(loop, &dominators_, &loops_, &evolution_, nullptr, nullptr, /*PreserveLCSSA=*/false);
      if (!loop->isLoopSimplifyForm() || !loop->hasDedicatedExits()) continue;
      formLCSSA(*loop, dominators_, &loops_, &evolution_);
      copy(*loop);
      ++count;
    }
    return count;
  }

 private:
  bool is_worth_it(const Loop& loop) const {
    if (regions_.heads_long_loop(*loop.getHeader())) return false;
    bool has_starts = false;
    unsigned count = 0;
    for (const BasicBlock* block : loop.blocks()) {
      if (block->isEHPad() || isa<IndirectBrInst>(block->getTerminator()) ||
          isa<CallBrInst>(block->getTerminator()))
        return false;
      for (const Instruction& instruction : *block) {
        if (++count > kMaxInstructions || instruction.isAtomic()) return false;
        const auto* call = dyn_cast<CallBase>(&instruction);
        if (call && (!isa<IntrinsicInst>(call) || call->cannotDuplicate() || call->isConvergent()))
          return false;
        if (instruction.getType()->isTokenTy()) return false;
        has_starts |= placement_.starts.count(const_cast<Instruction*>(&instruction)) != 0;
      }
    }
    return has_starts && !is_used_outside(loop);
  }

  // A monitor outside of an address computed inside: after copying there are two of it.
  bool is_used_outside(const Loop& loop) const {
    const auto uses = [&](const auto& groups) {
      return any_of(groups, [&](const auto& entry) {
        if (loop.contains(entry.first)) return false;
        return any_of(entry.second, [&](const Start& start) {
          const auto* base = dyn_cast<Instruction>(regions_.locations()[start.location].base);
          return base && loop.contains(base);
        });
      });
    };
    return uses(placement_.starts) || uses(placement_.keeps);
  }

  void copy(Loop& loop) {
    BasicBlock* const before = loop.getLoopPreheader();
    BasicBlock* const preheader = SplitBlock(before, before->getTerminator(), &dominators_, &loops_);
    SmallVector<BasicBlock*, 4> exits;
    loop.getUniqueExitBlocks(exits);

    ValueToValueMapTy map;
    SmallVector<BasicBlock*, 8> blocks;
    Loop* const plain =
        cloneLoopWithPreheader(preheader, before, &loop, map, ".plain", &loops_, &dominators_, blocks);
    remapInstructionsInBlocks(blocks, map);

    for (BasicBlock* exit : exits) {
      for (PHINode& phi : exit->phis()) {
        for (unsigned i = 0, end = phi.getNumIncomingValues(); i < end; ++i) {
          BasicBlock* const from = phi.getIncomingBlock(i);
          if (!loop.contains(from)) continue;
          Value* const value = phi.getIncomingValue(i);
          const auto mapped = map.find(value);
          phi.addIncoming(mapped == map.end() ? value : static_cast<Value*>(mapped->second),
                          cast<BasicBlock>(map[from]));
        }
      }
    }

    Instruction* const end = before->getTerminator();
    IRBuilder<> builder(end);
    Value* const gate = builder.CreateLoad(builder.getInt64Ty(), &gate_, "dh.gate");
    Value* const is_open = builder.CreateICmpNE(gate, builder.getInt64(0), "dh.open");
    builder.CreateCondBr(is_open, preheader, plain->getLoopPreheader(),
                         MDBuilder(function_.getContext()).createUnlikelyBranchWeights());
    end->eraseFromParent();
    // Exits have two ways in now.
    dominators_.recalculate(function_);
  }

  Function& function_;
  const InterferenceFreeRegions& regions_;
  const Placement& placement_;
  GlobalVariable& gate_;
  LoopInfo& loops_;
  DominatorTree& dominators_;
  ScalarEvolution& evolution_;
};

}  // namespace

unsigned copy_innermost_loops(Function& function, const InterferenceFreeRegions& regions,
                              const Placement& placement, GlobalVariable& gate, LoopInfo& loops,
                              DominatorTree& dominators, ScalarEvolution& evolution) {
  return LoopCopier(function, regions, placement, gate, loops, dominators, evolution).run();
}

}  // namespace deadheat::instrument
