#include "instrument/dominated_accesses.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>

namespace deadheat::instrument {

using namespace llvm;

namespace {

// Bits of state; a generated function with more gets all its checks.
constexpr uint64_t kMaxWork = uint64_t{1} << 30;

struct Fact {
  Bytes bytes;
  AccessKind kind;
};

class AvailableChecks {
 public:
  explicit AvailableChecks(const FunctionView& view) : view_(view), order_(&view.function()) {}

  bool prepare() {
    size_t blocks = 0;
    for (BasicBlock* block : order_) {
      ++blocks;
      for (Instruction& instruction : *block)
        for (Access& access : view_.accesses_of(instruction))
          if (access.size != 0) number(access);
    }
    return !facts_.empty() && blocks * facts_.size() <= kMaxWork;
  }

  void solve() {
    for (BasicBlock* block : order_) {
      // Optimistic start: everything holds where nothing is known yet.
      State& state = states_[block];
      state.out.resize(facts_.size(), true);
      state.made.resize(facts_.size());
      walk(*block, state.made, [](Access&, const BitVector&) {}, &state.kills);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (BasicBlock* block : order_) {
        State& state = states_[block];
        BitVector out = state.kills ? BitVector(facts_.size()) : at_entry(*block);
        out |= state.made;
        if (out == state.out) continue;
        state.out = std::move(out);
        changed = true;
      }
    }
  }

  template <class Visit>
  void for_each_covered(Visit visit) {
    for (BasicBlock* block : order_) {
      BitVector available = at_entry(*block);
      walk(*block, available, [&](Access& access, const BitVector& before) {
        if (access.live && is_covered(access, before)) visit(access);
      });
    }
  }

 private:
  struct State {
    BitVector made;  // at the end, by this block
    bool kills = false;
    BitVector out;
  };

  void number(const Access& access) {
    const Bytes bytes = view_.bytes_of(access);
    auto& of_base = by_base_[bytes.base];
    for (unsigned fact : of_base)
      if (facts_[fact].bytes.offset == bytes.offset && facts_[fact].bytes.size == bytes.size &&
          facts_[fact].kind == access.kind) {
        fact_of_[&access] = fact;
        return;
      }
    of_base.push_back(facts_.size());
    fact_of_[&access] = facts_.size();
    facts_.push_back({bytes, access.kind});
  }

  BitVector at_entry(BasicBlock& block) {
    BitVector available(facts_.size());
    bool first = true;
    for (BasicBlock* predecessor : predecessors(&block)) {
      const auto found = states_.find(predecessor);
      if (found == states_.end()) continue;  // unreachable
      if (first)
        available = found->second.out;
      else
        available &= found->second.out;
      first = false;
    }
    return available;
  }

  // Calls `visit` for each access with what is available right before it, and leaves in `available` what is
  // at the end.
  template <class Visit>
  void walk(BasicBlock& block, BitVector& available, Visit visit, bool* kills = nullptr) {
    for (Instruction& instruction : block) {
      for (Access& access : view_.accesses_of(instruction)) {
        const auto found = fact_of_.find(&access);
        if (found == fact_of_.end()) continue;
        visit(access, available);
        available.set(found->second);
      }
      const Effects effects = view_.effects_of(instruction);
      if (!effects.releases && !effects.forgets) continue;
      available.reset();
      if (kills) *kills = true;
    }
  }

  // Do the available facts of this base, together, include every byte?
  bool is_covered(const Access& access, const BitVector& available) {
    const Bytes bytes = view_.bytes_of(access);
    SmallVector<const Bytes*, 8> candidates;
    for (unsigned fact : by_base_[bytes.base]) {
      if (!available.test(fact) || !covers(facts_[fact].kind, access.kind)) continue;
      if (facts_[fact].bytes.includes(bytes)) return true;
      candidates.push_back(&facts_[fact].bytes);
    }
    sort(candidates, [](const Bytes* a, const Bytes* b) { return a->offset < b->offset; });
    int64_t reached = bytes.offset;
    for (const Bytes* candidate : candidates) {
      if (candidate->offset > reached) break;
      reached = std::max(reached, candidate->end());
    }
    return reached >= bytes.end();
  }

  const FunctionView& view_;
  ReversePostOrderTraversal<Function*> order_;
  std::vector<Fact> facts_;
  DenseMap<const Value*, SmallVector<unsigned, 4>> by_base_;
  DenseMap<const Access*, unsigned> fact_of_;
  DenseMap<const BasicBlock*, State> states_;
};

}  // namespace

void remove_dominated_accesses(const FunctionView& view, Statistics& statistics) {
  AvailableChecks checks(view);
  if (!checks.prepare()) return;
  checks.solve();
  checks.for_each_covered([&](Access& access) {
    access.live = false;
    ++statistics.dominated;
  });
}

}  // namespace deadheat::instrument
