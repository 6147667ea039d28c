#include "instrument/loop_accesses.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

namespace deadheat::instrument {

using namespace llvm;

namespace {

// Something to be asked whenever `block` is executed: `count` times `size` bytes, `stride` apart, from
// `start`.
struct Check {
  AccessKind kind;
  Instruction* origin;  // whose line it reports
  BasicBlock* block;
  const SCEV* start;
  const SCEV* size;                   // i64
  const SCEV* stride = nullptr;       // i64; null: once
  const SCEV* count = nullptr;        // i64; null: once
  bool happens = true;                // the count is not zero
  bool is_moved = false;              // stands before a loop by now
  SmallVector<Access*, 1> members{};  // the accesses it stands for
};

class LoopHoister {
 public:
  LoopHoister(const FunctionView& view, LoopAnalyses analyses, Hooks& hooks, AccessInstrumenter& instrumenter,
              Statistics& statistics, Hoisting hoisting)
      : view_(view),
        hoisting_(hoisting),
        loops_(analyses.loops),
        evolution_(analyses.evolution),
        dominators_(analyses.dominators),
        hooks_(hooks),
        instrumenter_(instrumenter),
        statistics_(statistics),
        i64_(Type::getInt64Ty(view.function().getContext())),
        expander_(evolution_, view.function().getParent()->getDataLayout(), "dh") {}

  void run() {
    for (Access& access : view_.accesses()) {
      BasicBlock* const block = access.instruction->getParent();
      if (!access.live || access.size == 0 || !loops_.getLoopFor(block)) continue;
      if (!evolution_.isSCEVable(access.address->getType())) continue;
      Check check{access.kind, access.instruction, block, evolution_.getSCEV(access.address),
                  evolution_.getConstant(i64_, access.size)};
      check.members.push_back(&access);
      checks_.push_back(std::move(check));
    }
    if (checks_.empty()) return;
    for (Loop* loop : loops_) visit(*loop);
    for (Check& check : checks_)
      if (check.is_moved) emit(check);
  }

 private:
  // Inner loops first. Returns whether the loop does nothing to the order between threads, and everything in
  // it returns.
  bool visit(Loop& loop) {
    bool is_quiet = true;
    for (Loop* inner : loop.getSubLoops())
      is_quiet &= visit(*inner) && evolution_.hasLoopInvariantBackedgeTakenCount(inner);
    is_quiet = is_quiet && has_no_effects(loop);
    if (is_quiet && may_leave(loop)) hoist(loop);
    return is_quiet;
  }

  bool may_leave(const Loop& loop) const {
    return hoisting_ == Hoisting::kAllLoops ||
           (loop.isInnermost() && evolution_.hasLoopInvariantBackedgeTakenCount(&loop));
  }

  bool has_no_effects(const Loop& loop) const {
    for (const BasicBlock* block : loop.blocks()) {
      if (loops_.getLoopFor(block) != &loop) continue;  // an inner loop's, asked already
      for (const Instruction& instruction : *block)
        if (!view_.effects_of(instruction).none()) return false;
    }
    return true;
  }

  void hoist(Loop& loop) {
    if (none_of(checks_, [&](const Check& check) { return loops_.getLoopFor(check.block) == &loop; })) return;
    const BasicBlock* const before = preheader(loop);
    if (!before) return;
    std::vector<Check> staying, moved;
    for (Check& check : checks_) {
      Check hoisted = check;
      if (loops_.getLoopFor(check.block) == &loop && move_before(loop, hoisted))
        moved.push_back(std::move(hoisted));
      else
        staying.push_back(std::move(check));
    }
    join(moved);
    for (Check& check : moved) {
      if (check.stride) make_contiguous(check);
      staying.push_back(std::move(check));
    }
    checks_ = std::move(staying);
  }

  // Rewrites the check of one iteration into one of the whole loop, if that is exact and can be computed
  // before the loop.
  bool move_before(Loop& loop, Check& check) {
    SmallVector<BasicBlock*, 4> exiting, latches;
    loop.getExitingBlocks(exiting);
    loop.getLoopLatches(latches);
    const auto dominates_all = [&](ArrayRef<BasicBlock*> others) {
      return all_of(others, [&](BasicBlock* other) { return dominators_.dominates(check.block, other); });
    };
    if (!dominates_all(latches)) return false;
    const bool before_exits = dominates_all(exiting);
    const bool behind_exit =
        exiting.size() == 1 && dominators_.properlyDominates(exiting.front(), check.block);
    bool is_invariant = before_exits && is_invariant_in(loop, check);
    if (!is_invariant) {
      const SCEV* const back_edges = evolution_.getBackedgeTakenCount(&loop);
      if (isa<SCEVCouldNotCompute>(back_edges) || (!before_exits && !behind_exit)) return false;
      if (evolution_.getTypeSizeInBits(back_edges->getType()) > 64 || !make_strided(loop, check))
        return false;
      const SCEV* const count = evolution_.getNoopOrZeroExtend(back_edges, i64_);
      check.count = before_exits ? evolution_.getAddExpr(count, evolution_.getOne(i64_)) : count;
      check.happens = before_exits;
    }
    check.block = loop.getLoopPreheader();
    for (const SCEV* part : {check.start, check.size, check.stride, check.count})
      if (part && !expander_.isSafeToExpandAt(part, check.block->getTerminator())) return false;
    if (!check.is_moved) ++(is_invariant ? statistics_.loop_invariant : statistics_.loop_strided);
    check.is_moved = true;
    return true;
  }

  bool is_invariant_in(Loop& loop, const Check& check) const {
    return all_of(ArrayRef{check.start, check.size, check.stride, check.count},
                  [&](const SCEV* part) { return !part || evolution_.isLoopInvariant(part, &loop); });
  }

  bool make_strided(Loop& loop, Check& check) const {
    if (check.stride) return false;  // a step of steps has no hook
    const auto* walk = dyn_cast<SCEVAddRecExpr>(check.start);
    if (!walk || walk->getLoop() != &loop || !walk->isAffine()) return false;
    const SCEV* const step = walk->getStepRecurrence(evolution_);
    if (!evolution_.isLoopInvariant(check.size, &loop) || evolution_.getTypeSizeInBits(step->getType()) > 64)
      return false;
    check.start = walk->getStart();
    check.stride = evolution_.getNoopOrSignExtend(step, i64_);
    return true;
  }

  // Accesses of one line, kind and step that leave no gap between them become one.
  void join(std::vector<Check>& moved) {
    for (size_t i = 0; i < moved.size(); ++i) {
      for (size_t j = i + 1; j < moved.size();) {
        if (!join_two(moved[i], moved[j])) {
          ++j;
          continue;
        }
        ++statistics_.loop_joined;
        moved.erase(moved.begin() + static_cast<ptrdiff_t>(j));
        j = i + 1;  // what did not touch before may touch now
      }
    }
  }

  bool join_two(Check& a, const Check& b) const {
    if (!a.stride || a.kind != b.kind || a.stride != b.stride || a.count != b.count ||
        !FunctionView::is_same_line(*a.origin, *b.origin))
      return false;
    const auto* a_size = dyn_cast<SCEVConstant>(a.size);
    const auto* b_size = dyn_cast<SCEVConstant>(b.size);
    const auto* distance = dyn_cast<SCEVConstant>(evolution_.getMinusSCEV(b.start, a.start));
    if (!a_size || !b_size || !distance) return false;
    const int64_t b_begin = distance->getAPInt().getSExtValue();
    const int64_t b_end = b_begin + b_size->getAPInt().getSExtValue();
    const int64_t a_end = a_size->getAPInt().getSExtValue();
    if (b_begin > a_end || b_end < 0) return false;  // a gap
    if (b_begin < 0) a.start = b.start;
    a.size = evolution_.getConstant(
        i64_, static_cast<uint64_t>(std::max(a_end, b_end) - std::min<int64_t>(b_begin, 0)));
    a.members.append(b.members.begin(), b.members.end());
    return true;
  }

  // Elements that touch one another are one range.
  void make_contiguous(Check& check) const {
    if (check.stride == check.size) {
      check.size = evolution_.getMulExpr(check.size, check.count);
      check.stride = check.count = nullptr;
      return;
    }
    const auto* size = dyn_cast<SCEVConstant>(check.size);
    const auto* stride = dyn_cast<SCEVConstant>(check.stride);
    // Without an iteration there is no last one to start from.
    if (!size || !stride || !check.happens || stride->getAPInt().abs().ugt(size->getAPInt())) return;
    const SCEV* const steps = evolution_.getMinusSCEV(check.count, evolution_.getOne(i64_));
    if (stride->getAPInt().isNegative())
      check.start = evolution_.getAddExpr(check.start, evolution_.getMulExpr(check.stride, steps));
    check.size = evolution_.getAddExpr(
        evolution_.getMulExpr(evolution_.getConstant(stride->getAPInt().abs()), steps), size);
    check.stride = check.count = nullptr;
  }

  BasicBlock* preheader(Loop& loop) {
    if (BasicBlock* block = loop.getLoopPreheader()) return block;
    return InsertPreheaderForLoop(&loop, &dominators_, &loops_, nullptr, /*PreserveLCSSA=*/false);
  }

  void emit(Check& check) {
    Instruction* const place = check.block->getTerminator();
    const auto expand = [&](const SCEV* value) {
      return expander_.expandCodeFor(value, value->getType(), place);
    };
    Value* const address = expand(check.start);
    IRBuilder<> builder(place);
    builder.SetCurrentDebugLocation(location_of(*check.origin));
    const std::string name = check.kind == AccessKind::kWrite ? "__dh_write" : "__dh_read";
    for (Access* access : check.members) access->live = false;
    const auto* size = dyn_cast<SCEVConstant>(check.size);
    if (check.stride) {
      ++statistics_.checks;
      hooks_.call(builder, name + "_strided",
                  {address, expand(check.size), expand(check.stride), expand(check.count)});
    } else if (size && check.members.size() == 1 && size->getAPInt() == check.members.front()->size) {
      // What is stored is only known here if it does not change; a check without a value is a range's.
      const Access& access = *check.members.front();
      const auto* computed = dyn_cast_or_null<Instruction>(access.stored);
      Value* const stored = !computed || dominators_.dominates(computed, place) ? access.stored : nullptr;
      instrumenter_.emit_check(builder, check.kind, address, access.size, access.alignment, stored);
    } else {
      ++statistics_.checks;
      hooks_.call(builder, name + "_range", {address, expand(check.size)});
    }
  }

  const FunctionView& view_;
  const Hoisting hoisting_;
  LoopInfo& loops_;
  ScalarEvolution& evolution_;
  DominatorTree& dominators_;
  Hooks& hooks_;
  AccessInstrumenter& instrumenter_;
  Statistics& statistics_;
  Type* i64_;
  SCEVExpander expander_;
  std::vector<Check> checks_;
};

}  // namespace

void hoist_loop_accesses(const FunctionView& view, LoopAnalyses analyses, Hooks& hooks,
                         AccessInstrumenter& instrumenter, Statistics& statistics, Hoisting hoisting) {
  LoopHoister(view, analyses, hooks, instrumenter, statistics, hoisting).run();
}

}  // namespace deadheat::instrument
