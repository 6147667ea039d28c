#include "instrument/monitor_placement.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <optional>

#include "runtime/monitor_abi.h"

namespace deadheat::instrument {

using namespace llvm;

namespace {

// More than so many at one release are not worth their calls: the others start again behind it.
constexpr size_t kMaxKept = 8;

// What to start for a location of which this is certain: as strong as an access is known for.
std::optional<Start> start_for(LocationId location, const Certain& certain) {
  if (certain.write) return Start{location, certain.write};
  if (certain.access) return Start{location, certain.access};
  return std::nullopt;
}

Placement::Group starts_for(const CertainSet& set) {
  Placement::Group group;
  for (const auto& [location, certain] : set)
    if (const auto start = start_for(location, certain)) group.push_back(*start);
  return group;
}

bool is_strong(const Start& start) { return start.site->kind == AccessKind::kWrite; }

// The monitors that are active for certain: location, and whether strong.
using Active = std::map<LocationId, bool>;

Active intersection(const Active& a, const Active& b) {
  Active both;
  for (const auto& [location, strong] : a)
    if (const auto found = b.find(location); found != b.end())
      both.emplace(location, strong && found->second);
  return both;
}

class Placer {
 public:
  Placer(Function& function, const InterferenceFreeRegions& regions, const MonitorEffects& effects)
      : function_(function), regions_(regions), effects_(effects) {}

  Placement run() {
    for (BasicBlock& block : function_) find_candidates(block);
    solve();
    for (BasicBlock& block : function_) collect(block);
    return std::move(placement_);
  }

 private:
  void find_candidates(BasicBlock& block) {
    at_start_[&block] = starts_for(regions_.at_start(block));
    regions_.walk(block,
                  [&](const Instruction& instruction, const CertainSet& after, const CertainSet& before) {
                    const RegionEffects effects = effects_.effects_of(instruction);
                    if (effects.releases) releasing_.insert(&instruction);
                    if (effects.only_releases && !before.empty()) ahead_.insert(&instruction);
                    if (effects.only_releases) {
                      Placement::Group kept = starts_for(before);
                      erase_if(kept, [&](const Start& start) {
                        return regions_.locations()[start.location].size > kDhMonitorMaxPoint;
                      });
                      if (kept.size() > kMaxKept) kept.truncate(kMaxKept);
                      if (!kept.empty()) kept_[&instruction] = std::move(kept);
                    }
                    if (instruction.isTerminator()) return;
                    if (effects.ends_certainty() || effects.releases) {
                      after_[&instruction] = starts_for(after);
                      return;
                    }
                    Placement::Group fresh;
                    for (LocationId location : regions_.defined_by(instruction))
                      if (const auto found = after.find(location); found != after.end())
                        if (const auto start = start_for(location, found->second)) fresh.push_back(*start);
                    if (!fresh.empty()) after_[&instruction] = std::move(fresh);
                  });
  }

  bool is_covered(const Active& active, const Start& start) const {
    const Bytes& wanted = regions_.locations()[start.location];
    if (const auto found = active.find(start.location); found != active.end())
      if (found->second || !is_strong(start)) return true;
    return any_of(active, [&](const auto& entry) {
      return (entry.second || !is_strong(start)) && regions_.locations()[entry.first].includes(wanted);
    });
  }

  // Starts what is not active yet; what that is, is added to `started`.
  void start(const Placement::Group& group, Active& active, Placement::Group* started) const {
    for (const Start& candidate : group) {
      if (is_covered(active, candidate)) continue;
      active[candidate.location] |= is_strong(candidate);
      if (started) started->push_back(candidate);
    }
  }

  // Variables may be moved to the function's very beginning: nothing stands before one.
  static Instruction& behind_variables(Instruction& instruction) {
    Instruction* place = &instruction;
    while (isa<AllocaInst>(place)) place = place->getNextNode();
    return *place;
  }

  // `visit(instruction, group)`: these start before the instruction.
  template <class Visit>
  void pass_through(BasicBlock& block, Active& active, Visit visit) const {
    for (const PHINode& phi : block.phis())
      for (LocationId location : regions_.defined_by(phi)) active.erase(location);
    Placement::Group started;
    start(at_start_.find(&block)->second, active, &started);
    if (!started.empty()) visit(behind_variables(*block.getFirstInsertionPt()), started);
    for (Instruction& instruction : block) {
      if (releasing_.contains(&instruction)) {
        active.clear();
        if (const auto kept = kept_.find(&instruction); kept != kept_.end())
          for (const Start& one : kept->second) active[one.location] |= is_strong(one);
      }
      for (LocationId location : regions_.defined_by(instruction))
        if (!isa<PHINode>(instruction)) active.erase(location);
      const auto found = after_.find(&instruction);
      if (found == after_.end()) continue;
      started.clear();
      start(found->second, active, &started);
      if (!started.empty()) visit(behind_variables(*instruction.getNextNode()), started);
    }
  }

  void solve() {
    ReversePostOrderTraversal<Function*> order(&function_);
    for (bool changed = true; changed;) {
      changed = false;
      for (BasicBlock* block : order) {
        Active active = at_entry(*block);
        pass_through(*block, active, [](Instruction&, const Placement::Group&) {});
        const auto [entry, is_new] = at_end_.try_emplace(block);
        if (!is_new && entry->second == active) continue;
        entry->second = std::move(active);
        changed = true;
      }
    }
  }

  Active at_entry(BasicBlock& block) const {
    std::optional<Active> active;
    // Behind a closed gate nothing was started: in a loop that takes long, it is looked at again every time
    // round.
    if (block.isEntryBlock() || regions_.heads_long_loop(block)) return {};
    for (BasicBlock* previous : predecessors(&block)) {
      const auto found = at_end_.find(previous);
      if (found == at_end_.end()) continue;  // not known yet, or not reachable
      active = active ? intersection(*active, found->second) : found->second;
    }
    return active.value_or(Active());
  }

  // May starts be put off beyond this instruction?
  static bool is_ordinary(const Instruction& instruction) {
    if (instruction.isTerminator() || instruction.isAtomic()) return false;
    const auto* call = dyn_cast<CallBase>(&instruction);
    return !call || (isa<IntrinsicInst>(call) && !isa<MemIntrinsic>(call));
  }

  // Does nothing but ordinary instructions lie between a start at `place` and the access?
  static bool is_prompt(const Instruction& place, const Site& site) {
    if (!site.access || site.access->getParent() != place.getParent()) return false;
    if (site.access->comesBefore(&place)) return true;
    for (const Instruction* at = &place; at != site.access; at = at->getNextNode())
      if (!is_ordinary(*at)) return false;
    return true;
  }

  void collect(BasicBlock& block) {
    if (!at_end_.contains(&block)) return;  // not reachable
    Active active = at_entry(block);
    DenseMap<const Instruction*, Placement::Group> before;
    pass_through(block, active, [&](Instruction& instruction, const Placement::Group& group) {
      before[&instruction].append(group.begin(), group.end());
    });
    Placement::Group pending;
    Instruction* place = nullptr;
    const auto flush = [&] {
      for (Start& start : pending) start.prompt = is_prompt(*place, *start.site);
      if (!pending.empty()) placement_.starts[place].append(pending.begin(), pending.end());
      pending.clear();
    };
    for (Instruction& instruction : block) {
      if (const auto found = before.find(&instruction); found != before.end()) {
        pending.append(found->second.begin(), found->second.end());
        place = &instruction;
      }
      if (!is_ordinary(instruction)) flush();
      mark(instruction);
    }
  }

  void mark(Instruction& instruction) {
    if (const auto kept = kept_.find(&instruction); kept != kept_.end())
      placement_.keeps[&instruction] = kept->second;
    if (ahead_.contains(&instruction)) placement_.aheads.push_back(&instruction);
    switch (effects_.effects_of(instruction).telling) {
      case Telling::kNothing:
        break;
      case Telling::kRelease:
        placement_.releases.push_back(&instruction);
        break;
      case Telling::kAsks:
        placement_.asks.push_back(cast<CallBase>(&instruction));
        break;
      case Telling::kAsksWhose:
        placement_.whose.push_back(cast<CallBase>(&instruction));
        break;
    }
  }

  Function& function_;
  const InterferenceFreeRegions& regions_;
  const MonitorEffects& effects_;
  DenseMap<const BasicBlock*, Placement::Group> at_start_;
  DenseMap<const Instruction*, Placement::Group> after_;
  DenseMap<const Instruction*, Placement::Group> kept_;
  DenseSet<const Instruction*> releasing_;
  DenseSet<const Instruction*> ahead_;
  DenseMap<const BasicBlock*, Active> at_end_;
  Placement placement_;
};

}  // namespace

Placement place_monitors(Function& function, const InterferenceFreeRegions& regions,
                         const MonitorEffects& effects) {
  return Placer(function, regions, effects).run();
}

}  // namespace deadheat::instrument
