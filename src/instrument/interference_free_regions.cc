#include "instrument/interference_free_regions.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <optional>

#include "instrument/hooks.h"

namespace deadheat::instrument {

using namespace llvm;

namespace {

CertainSet intersection(const CertainSet& a, const CertainSet& b) {
  CertainSet both;
  for (const auto& [location, in_a] : a) {
    const auto found = b.find(location);
    if (found == b.end()) continue;
    const Certain& in_b = found->second;
    Certain certain;
    certain.access = in_a.access == in_b.access ? in_a.access : nullptr;
    certain.is_written = in_a.is_written && in_b.is_written;
    certain.write = certain.is_written && in_a.write == in_b.write ? in_a.write : nullptr;
    both.emplace(location, certain);
  }
  return both;
}

// The callee's access as it looks from the caller: inlined at the call.
DebugLoc seen_from(const DebugLoc& line, const CallBase& call) {
  const DebugLoc at = location_of(call);
  if (!line || !at) return at;
  DenseMap<const MDNode*, MDNode*> cache;
  DILocation* const inlined_at = DebugLoc::appendInlinedAt(line, at.get(), call.getContext(), cache).get();
  return DILocation::get(call.getContext(), line.getLine(), line.getCol(), line->getScope(), inlined_at);
}

// The end of a variable's life, or its beginning: what is accessed after it is another variable than before.
const Value* life_changed_by(const Instruction& instruction, bool& all) {
  const auto* marker = dyn_cast<IntrinsicInst>(&instruction);
  if (!marker) return nullptr;
  switch (marker->getIntrinsicID()) {
    case Intrinsic::lifetime_start:
    case Intrinsic::lifetime_end:
      return getUnderlyingObject(marker->getArgOperand(1));
    case Intrinsic::stackrestore:
      all = true;
      return nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

void RegionSummaries::set(const Function& function, std::vector<Entry> entries) {
  entries_[&function] = std::move(entries);
}

ArrayRef<RegionSummaries::Entry> RegionSummaries::of(const Function& function) const {
  const auto found = entries_.find(&function);
  return found == entries_.end() ? ArrayRef<Entry>() : ArrayRef<Entry>(found->second);
}

const Site* RegionSummaries::make_site(DebugLoc line, AccessKind kind, const Instruction* access) {
  sites_.push_back({std::move(line), kind, access});
  return &sites_.back();
}

InterferenceFreeRegions::InterferenceFreeRegions(Function& function, ArrayRef<Access> accesses,
                                                 const FunctionView& view, const MonitorEffects& effects,
                                                 LoopInfo& loops, ScalarEvolution& evolution,
                                                 RegionSummaries& summaries)
    : function_(function), effects_(effects), summaries_(summaries) {
  add_accesses(accesses, view);
  for (const Instruction& instruction : instructions(function))
    if (const auto* call = dyn_cast<CallBase>(&instruction)) add_callee(*call);
  find_endless_edges(loops, evolution);
  is_local_ = locations_.size() * function.size() > kMaxWork;
  solve();
}

LocationId InterferenceFreeRegions::location_id(const Bytes& bytes) {
  const auto [entry, is_new] = ids_.try_emplace({bytes.base, bytes.offset, bytes.size}, locations_.size());
  if (is_new) {
    locations_.push_back(bytes);
    if (isa<Instruction>(bytes.base)) by_definition_[bytes.base].push_back(entry->second);
  }
  return entry->second;
}

void InterferenceFreeRegions::add_accesses(ArrayRef<Access> accesses, const FunctionView& view) {
  for (const Access& access : accesses) {
    if (!access.live || access.size == 0) continue;
    const Site* const site =
        summaries_.make_site(location_of(*access.instruction), access.kind, access.instruction);
    accesses_[access.instruction].push_back({location_id(view.bytes_of(access)), site});
  }
}

void InterferenceFreeRegions::add_callee(const CallBase& call) {
  const Function* const callee = call.getCalledFunction();
  if (!callee || !has_known_body(*callee)) return;
  const DataLayout& layout = function_.getParent()->getDataLayout();
  for (const RegionSummaries::Entry& entry : summaries_.of(*callee)) {
    Bytes bytes{entry.base, entry.offset, entry.size};
    if (const auto* parameter = dyn_cast<Argument>(entry.base)) {
      if (parameter->getArgNo() >= call.arg_size()) continue;
      const Value* const argument = call.getArgOperand(parameter->getArgNo());
      if (!argument->getType()->isPointerTy()) continue;
      APInt offset(layout.getIndexTypeSizeInBits(argument->getType()), 0);
      bytes.base = argument->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
      bytes.offset += offset.getSExtValue();
    }
    // Private memory of this function is nobody else's, whoever writes it.
    if (isa<AllocaInst>(bytes.base) || isa<ConstantPointerNull>(bytes.base)) continue;
    Certain certain = entry.certain;
    for (const Site** site : {&certain.access, &certain.write})
      if (*site) *site = summaries_.make_site(seen_from((*site)->line, call), (*site)->kind);
    callees_[&call].push_back({location_id(bytes), certain});
  }
}

bool InterferenceFreeRegions::comes_to_an_end(const Loop& loop, LoopInfo& loops,
                                              ScalarEvolution& evolution) const {
  if (evolution.hasLoopInvariantBackedgeTakenCount(&loop)) return true;
  if (!isMustProgress(&loop) || loop.hasNoExitBlocks()) return false;
  for (const BasicBlock* block : loop.blocks()) {
    if (const Loop* inner = loops.getLoopFor(block);
        inner != &loop && block == inner->getHeader() && !comes_to_an_end(*inner, loops, evolution))
      return false;
    for (const Instruction& instruction : *block) {
      if (instruction.isAtomic() || instruction.isVolatile()) return false;
      if (const auto* call = dyn_cast<CallBase>(&instruction)) {
        const RegionEffects effects = effects_.effects_of(*call);
        if (effects.acquires || effects.releases || effects.may_not_continue) return false;
      }
    }
  }
  return true;
}

void InterferenceFreeRegions::find_endless_edges(LoopInfo& loops, ScalarEvolution& evolution) {
  DenseSet<const BasicBlock*> ending_heads;
  for (const Loop* loop : loops.getLoopsInPreorder()) {
    const bool ends = comes_to_an_end(*loop, loops, evolution);
    if (ends) ending_heads.insert(loop->getHeader());
    if (!ends || !loop->isInnermost()) long_loop_heads_.insert(loop->getHeader());
  }
  // Every edge that goes back in the order of the walk: those of loops that end are edges like others.
  DenseMap<const BasicBlock*, unsigned> order;
  for (const BasicBlock* block : post_order(&function_)) order[block] = order.size();
  for (const BasicBlock& block : function_) {
    if (!order.contains(&block)) continue;
    for (const BasicBlock* next : successors(&block)) {
      if (order[next] < order[&block]) continue;
      const Loop* const loop = loops.getLoopFor(next);
      const bool is_back_edge = loop && loop->getHeader() == next && loop->contains(&block);
      if (!is_back_edge || !ending_heads.contains(next)) endless_edges_.insert({&block, next});
    }
  }
}

// Nothing: no successor is known yet, so that everything may be certain.
std::optional<CertainSet> InterferenceFreeRegions::at_end(const BasicBlock& block) const {
  if (is_local_ || succ_empty(&block)) return CertainSet();
  std::optional<CertainSet> set;
  for (const BasicBlock* next : successors(&block)) {
    if (endless_edges_.contains({&block, next})) return CertainSet();
    const auto found = starts_.find(next);
    if (found == starts_.end()) continue;
    CertainSet there = found->second;
    for (const PHINode& phi : next->phis())
      for (LocationId location : defined_by(phi)) there.erase(location);
    set = set ? intersection(*set, there) : std::move(there);
  }
  return set;
}

// The table of the essay, one statement backwards.
void InterferenceFreeRegions::step(const Instruction& instruction, CertainSet& set) const {
  for (LocationId location : defined_by(instruction)) set.erase(location);
  if (!set.empty()) {
    if (effects_.effects_of(instruction).ends_certainty()) {
      set.clear();
    } else {
      bool all = false;
      const Value* const variable = life_changed_by(instruction, all);
      if (all) set.clear();
      if (variable)
        std::erase_if(set, [&](const auto& entry) {
          return getUnderlyingObject(locations_[entry.first].base) == variable;
        });
    }
  }
  if (const auto found = callees_.find(&instruction); found != callees_.end()) {
    for (const auto& [location, certain] : found->second) {
      Certain& here = set[location];
      here.access = certain.access;
      if (!certain.is_written) continue;
      here.is_written = true;
      here.write = certain.write;
    }
  }
  if (const auto found = accesses_.find(&instruction); found != accesses_.end()) {
    for (const AccessOf& access : found->second) {
      Certain& here = set[access.location];
      here.access = access.site;
      if (access.site->kind != AccessKind::kWrite) continue;
      here.is_written = true;
      here.write = access.site;
    }
  }
}

void InterferenceFreeRegions::solve() {
  std::vector<const BasicBlock*> blocks;
  for (const BasicBlock* block : post_order(&function_)) blocks.push_back(block);
  // From "everything is certain" downwards, so that what comes after a loop is certain before it.
  for (bool changed = true; changed;) {
    changed = false;
    for (const BasicBlock* block : blocks) {
      std::optional<CertainSet> set = at_end(*block);
      for (const Instruction& instruction : reverse(*block)) {
        if (isa<PHINode>(instruction)) break;
        if (!set && effects_.effects_of(instruction).ends_certainty()) set.emplace();
        if (set) step(instruction, *set);
      }
      if (!set) continue;
      const auto [entry, is_new] = starts_.try_emplace(block);
      if (!is_new && entry->second == *set) continue;
      entry->second = std::move(*set);
      changed = !is_local_;
    }
  }
}

const CertainSet& InterferenceFreeRegions::at_start(const BasicBlock& block) const {
  static const CertainSet empty;
  const auto found = starts_.find(&block);
  return found == starts_.end() ? empty : found->second;
}

void InterferenceFreeRegions::walk(
    const BasicBlock& block,
    function_ref<void(const Instruction&, const CertainSet&, const CertainSet&)> visit) const {
  CertainSet set = at_end(block).value_or(CertainSet());
  for (const Instruction& instruction : reverse(block)) {
    if (isa<PHINode>(instruction)) break;
    const CertainSet after = set;
    step(instruction, set);
    visit(instruction, after, set);
  }
}

ArrayRef<LocationId> InterferenceFreeRegions::defined_by(const Value& definition) const {
  const auto found = by_definition_.find(&definition);
  return found == by_definition_.end() ? ArrayRef<LocationId>() : ArrayRef<LocationId>(found->second);
}

std::vector<RegionSummaries::Entry> InterferenceFreeRegions::summary() const {
  std::vector<RegionSummaries::Entry> entries;
  for (const auto& [location, certain] : at_start(function_.getEntryBlock())) {
    const Bytes& bytes = locations_[location];
    if (isa<GlobalVariable>(bytes.base) || isa<Argument>(bytes.base))
      entries.push_back({bytes.base, bytes.offset, bytes.size, certain});
  }
  return entries;
}

}  // namespace deadheat::instrument
