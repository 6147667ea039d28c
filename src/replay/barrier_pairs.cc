#include "replay/barrier_pairs.h"

#include <llvm/IR/InstrTypes.h>

#include <algorithm>

#include "instrument/sanitizer_marks.h"
#include "replay/known_functions.h"
#include "replay/program.h"

namespace deadheat::replay {

using recording::SequencerKind;

namespace {

// Need an analysis not worry about what is called here?
bool is_known_call(const Program& program, SiteId site) {
  const SitePlace where = program.place_of(site);
  if (where.instance == nullptr || where.instance->code == nullptr) return false;
  std::size_t index = 0;
  const Point* const point = where.instance->code->point_of(where.site, index);
  if (point == nullptr || point->instruction == nullptr) return false;
  const auto* const call = llvm::dyn_cast<llvm::CallBase>(point->instruction);
  if (call == nullptr) return false;
  if (call->isInlineAsm()) return true;
  const auto* const callee = llvm::dyn_cast<llvm::Function>(call->getCalledOperand()->stripPointerCasts());
  if (callee == nullptr) return false;
  if (!callee->isDeclaration() && instrument::is_excluded(*callee)) return true;
  return is_known_function(callee->getName());
}

bool is_known_call(const Program& program, SiteId site, std::unordered_map<std::uint32_t, bool>& cache) {
  const auto [known, is_new] = cache.try_emplace(site.value(), false);
  if (is_new) known->second = is_known_call(program, site);
  return known->second;
}

}  // namespace

void InvisibleCalls::on_invisible_arguments(ThreadId, SiteId site, std::span<const CallWord> arguments) {
  if (!arguments.empty() && !is_known_call(program_, site, known_)) ++unknown_;
}

void BarrierPairs::emit(EventKind kind, ThreadId thread, SiteId site, std::uint32_t set) {
  Event event;
  event.kind = kind;
  event.thread = thread;
  event.object = ObjectId(0);  // all invisible code is one function: who it is does not matter
  event.value = set;
  event.site = site;
  sink_(event);
}

std::uint32_t BarrierPairs::set_of(ThreadId thread, const Reach& reach) {
  if (reach.is_everything) {
    ++unbounded_;
    is_shared_ = true;
  } else if (reach.allocations.empty()) {
    return kNoSet;
  }
  std::vector<AllocationId> key;
  for (const Allocation& allocation : reach.allocations) {
    key.push_back(allocation.id);
    std::uint32_t& by = reached_by_[allocation.id.value()];
    if (by != 0 && by != thread.value() + 1) is_shared_ = true;
    by = thread.value() + 1;
    is_shared_ |= locations_.is_touched_by_others(allocation.base, allocation.size, thread);
  }
  const auto [known, is_new] = by_allocations_.try_emplace(std::move(key), 0);
  if (!is_new) return known->second;
  if (is_marking_) {
    if (reach.is_everything) locations_.mark(Address(0), ~std::uint64_t{0});
    for (const Allocation& allocation : reach.allocations) locations_.mark(allocation.base, allocation.size);
    known->second = 0;
    return 0;
  }
  std::vector<ObjectId> members;
  const auto take = [&](ObjectId location, Address, unsigned) { members.push_back(location); };
  if (reach.is_everything) locations_.visit_touched(Address(0), ~std::uint64_t{0}, take);
  for (const Allocation& allocation : reach.allocations) {
    // The object itself, whether the program touches it or not: another call may be given it.
    locations_.visit(allocation.base, 1, /*all=*/true, take);
    locations_.visit_touched(allocation.base, allocation.size, take);
  }
  known->second = sets_.intern(std::move(members));
  return known->second;
}

void BarrierPairs::on_invisible_arguments(ThreadId thread, SiteId site, std::span<const CallWord> arguments) {
  if (open_.size() <= thread.index()) open_.resize(thread.index() + 1);
  Call call;
  if (!arguments.empty() && !is_known_call(program_, site, known_)) {
    Reach reach = reachable_.from(arguments);
    call.set = set_of(thread, reach);
    call.reach = std::move(reach.allocations);
  }
  if (call.set != kNoSet) {
    ++calls_;
    emit(EventKind::kEnter, thread, site, call.set);
  }
  open_[thread.index()].push_back(std::move(call));
}

void BarrierPairs::on_invisible_end(ThreadId thread) {
  if (open_.size() <= thread.index() || open_[thread.index()].empty()) return;
  const std::uint32_t set = open_[thread.index()].back().set;
  open_[thread.index()].pop_back();
  if (set != kNoSet) emit(EventKind::kLeave, thread, SiteId(0), set);
}

void BarrierPairs::on_sequencer(ThreadId thread, SiteId site, const recording::Sequencer& sequencer) {
  reachable_.on_sequencer(thread, site, sequencer);
  if (sequencer.kind == SequencerKind::kThreadFinishing) {
    if (open_.size() > thread.index())
      while (!open_[thread.index()].empty()) on_invisible_end(thread);
    if (const auto root = root_.find(thread.value()); root != root_.end())
      emit(EventKind::kLeave, thread, SiteId(0), root->second);
    return;
  }
  // The innermost call that is open does it.
  if (open_.size() <= thread.index() || open_[thread.index()].empty()) return;
  Call& call = open_[thread.index()].back();
  if (call.set == kNoSet) return;
  if (sequencer.kind == SequencerKind::kAllocated) {
    const Allocation* const made = reachable_.at(sequencer.object);
    if (made == nullptr) return;
    reachable_.link(*made, call.reach);
    call.reach.push_back(*made);
  } else if (sequencer.kind == SequencerKind::kThreadCreated) {
    Reach reach{call.reach, false};
    root_[sequencer.other_thread().value()] = set_of(sequencer.other_thread(), reach);
  }
}

void BarrierPairs::on_thread_begin(ThreadId thread) {
  if (const auto root = root_.find(thread.value()); root != root_.end())
    emit(EventKind::kEnter, thread, SiteId(0), root->second);
}

}  // namespace deadheat::replay
