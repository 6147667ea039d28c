// What a function is certain to access: the backwards must-analysis of "IFRit: Interference-Free Regions for
// Dynamic Data-Race Detection" (Effinger-Dean, Lucia, Ceze, Grossman, Boehm; OOPSLA 2012), section 3.5.
//
// For every point p of a function, two sets of locations:
//
//   W[p]    certainly written on every path from p before the next acquire
//   RW[p]   certainly read or written on every path from p before the next acquire
//
// Where a location is in RW[p], the thread is in an interference-free region of an access to it: nothing it
// acquires any more can order another thread's conflicting access before its own. There a weak monitor may be
// started; where it is in W[p], a strong one. Figure 6 of the paper, with p' the point after the statement at
// p:
//
//   statement              W[p]            RW[p]
//   load  r = *x           W[p']           RW[p'] + {x}
//   store *x = r           W[p'] + {x}     RW[p'] + {x}
//   acquire                {}              {}
//   release                W[p']           RW[p']
//   call                   {}              {}
//   other                  W[p']           RW[p']
//   end of the function    {}              {}
//   where paths meet       the intersection over the successors
//
// Where this differs from the paper:
//
// - A call empties the sets only if it may acquire or may not come back (MonitorEffects), and a call of a
// function of
//   this module adds what its body certainly accesses of globals and of what its arguments point to
//   (RegionSummaries).
// - Atomic operations acquire and release by their memory order. Their own location is not monitored: it
// cannot race
//   with another atomic operation, and monitors do not tell the two apart.
// - "Certain" is taken at its word. What may throw, exit or run for ever ends certainty. A loop counts as
// coming to its
//   end if its number of iterations is known, or if the language promises progress and nothing in it could be
//   waited for (no atomic or volatile access, no call that is not known); the edge back to the head of any
//   other loop carries nothing. The paper's intersection would let x into the sets of `for (;;) if (c) x =
//   1;`.
// - Each member remembers *which* access it is in the sets for, if it is the same one on all paths: that is
// the line a
//   report shows, and a monitor never claims an access that the run did not make. If paths differ (`if (c) x
//   = 1; else x = 2;`), the location is certain, but a monitor starts only where the access is known, in
//   either branch.
// - A location is a value of the program plus a constant offset and a size. Above the definition of that
// value it has
//   no name: a monitor can start right after the definition at the earliest (section 3.6, short-scope
//   monitors).
//
// Cost: a few passes over the blocks in post-order; sets are small, because calls empty them. Functions of
// more than kMaxWork blocks times locations are analysed block by block, without their edges: less is
// certain, nothing is wrong.
//
// Tested by interference_free_regions_test.cc: every row of the table, and the figures of the paper's
// sections 1 to 3.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>

#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "instrument/access.h"
#include "instrument/function_view.h"
#include "instrument/monitor_effects.h"

namespace deadheat::instrument {

// An access as a report shows it.
struct Site {
  llvm::DebugLoc line;
  AccessKind kind;
  const llvm::Instruction* access = nullptr;  // in this function; null: in a callee
};

using LocationId = unsigned;

// What is certain of one location at one point.
struct Certain {
  const Site* access = nullptr;  // the first access from here, or null: not the same one on all paths
  bool is_written = false;       // in W
  const Site* write = nullptr;   // the first write from here, or null

  friend bool operator==(const Certain&, const Certain&) = default;
};

// RW[p]; those that are written are W[p]. Ordered, so that what is made of it is the same every time.
using CertainSet = std::map<LocationId, Certain>;

// What functions certainly access of memory that their callers can name.
class RegionSummaries {
 public:
  struct Entry {
    const llvm::Value* base;  // a global, or an argument of the function
    int64_t offset;
    uint64_t size;
    Certain certain;
  };

  void set(const llvm::Function& function, std::vector<Entry> entries);
  llvm::ArrayRef<Entry> of(const llvm::Function& function) const;
  // Sites live as long as the summaries.
  const Site* make_site(llvm::DebugLoc line, AccessKind kind, const llvm::Instruction* access = nullptr);

 private:
  llvm::DenseMap<const llvm::Function*, std::vector<Entry>> entries_;
  std::deque<Site> sites_;
};

class InterferenceFreeRegions {
 public:
  static constexpr uint64_t kMaxWork = 20'000'000;

  InterferenceFreeRegions(llvm::Function& function, llvm::ArrayRef<Access> accesses, const FunctionView& view,
                          const MonitorEffects& effects, llvm::LoopInfo& loops,
                          llvm::ScalarEvolution& evolution, RegionSummaries& summaries);

  llvm::ArrayRef<Bytes> locations() const { return locations_; }
  // The sets at the block's first point after its phis.
  const CertainSet& at_start(const llvm::BasicBlock& block) const;
  // Calls `visit` for the block's instructions but the phis, last one first, with the sets after and before
  // each.
  void walk(
      const llvm::BasicBlock& block,
      llvm::function_ref<void(const llvm::Instruction&, const CertainSet& after, const CertainSet& before)>
          visit) const;
  // The locations whose address is known only from `definition` on.
  llvm::ArrayRef<LocationId> defined_by(const llvm::Value& definition) const;

  // The head of a loop that may take long: one with loops in it, or one that need not end.
  bool heads_long_loop(const llvm::BasicBlock& block) const { return long_loop_heads_.contains(&block); }

  // What callers may know.
  std::vector<RegionSummaries::Entry> summary() const;

 private:
  struct AccessOf {
    LocationId location;
    const Site* site;
  };

  LocationId location_id(const Bytes& bytes);
  void add_accesses(llvm::ArrayRef<Access> accesses, const FunctionView& view);
  void add_callee(const llvm::CallBase& call);
  void find_endless_edges(llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution);
  bool comes_to_an_end(const llvm::Loop& loop, llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution) const;
  void solve();
  std::optional<CertainSet> at_end(const llvm::BasicBlock& block) const;
  void step(const llvm::Instruction& instruction, CertainSet& set) const;

  llvm::Function& function_;
  const MonitorEffects& effects_;
  RegionSummaries& summaries_;
  llvm::SmallVector<Bytes, 16> locations_;
  std::map<std::tuple<const llvm::Value*, int64_t, uint64_t>, LocationId> ids_;
  llvm::DenseMap<const llvm::Value*, llvm::SmallVector<LocationId, 1>> by_definition_;
  llvm::DenseMap<const llvm::Instruction*, llvm::SmallVector<AccessOf, 1>> accesses_;
  // What a call adds: certain when it is reached.
  llvm::DenseMap<const llvm::Instruction*, llvm::SmallVector<std::pair<LocationId, Certain>, 1>> callees_;
  llvm::DenseSet<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>> endless_edges_;
  llvm::DenseSet<const llvm::BasicBlock*> long_loop_heads_;
  llvm::DenseMap<const llvm::BasicBlock*, CertainSet> starts_;
  bool is_local_ = false;  // too large: blocks know nothing of each other
};

}  // namespace deadheat::instrument
