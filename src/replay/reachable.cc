#include "replay/reachable.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/GlobalVariable.h>

#include <algorithm>
#include <unordered_set>

#include "replay/program.h"

namespace deadheat::replay {

using recording::SequencerKind;

namespace {

// Neither small numbers nor kernel addresses.
bool may_be_address(std::uint64_t word) { return word >= 0x1000 && word < (std::uint64_t{1} << 47); }

}  // namespace

void Reachable::on_sequencer(ThreadId thread, SiteId site, const recording::Sequencer& sequencer) {
  image_.on_sequencer(thread, site, sequencer);
  bool& is_starting = starting_[thread.value()];
  switch (sequencer.kind) {
    case SequencerKind::kAllocated:
      add(sequencer.object, sequencer.extra);
      break;
    case SequencerKind::kMapped:
      // A thread's stack is not one thing: its locals are.
      if (!is_starting) add(sequencer.object, sequencer.extra);
      break;
    case SequencerKind::kUsable:
      if (const auto known = allocations_.find(sequencer.object.value()); known != allocations_.end())
        known->second.size = std::max(known->second.size, sequencer.extra);
      break;
    case SequencerKind::kFreeing:
    case SequencerKind::kUnmapping:
      remove(sequencer.object);
      break;
    default:
      break;
  }
  is_starting = sequencer.kind == SequencerKind::kThreadStarted;
}

void Reachable::add(Address address, std::uint64_t size, bool is_constant) {
  const std::uint64_t begin = address.value();
  const std::uint64_t end = begin + std::max<std::uint64_t>(size, 1);
  // What was there before is gone, whether anybody said so or not.
  auto at = allocations_.lower_bound(begin);
  if (at != allocations_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second.size > begin) at = before;
  }
  while (at != allocations_.end() && at->first < end) at = allocations_.erase(at);
  allocations_[begin] = {AllocationId(next_++), address, end - begin, is_constant};
}

void Reachable::take_globals() {
  if (program_ == nullptr) return;
  taken_.resize(program_->instance_count());
  for (std::uint32_t number = 0; number < program_->instance_count(); ++number) {
    const Instance& instance = program_->instance(number);
    if (taken_[number] || instance.code == nullptr) continue;
    taken_[number] = true;
    const auto& globals = instance.code->plan().globals();
    const llvm::DataLayout& layout = instance.code->module().getDataLayout();
    for (std::size_t i = 0; i < globals.size() && i < instance.globals.size(); ++i) {
      const auto* const global = llvm::dyn_cast<llvm::GlobalVariable>(globals[i]);
      if (global == nullptr || instance.globals[i] == 0 || !global->getValueType()->isSized()) continue;
      // One that several modules refer to is one.
      const std::uint64_t size = layout.getTypeAllocSize(global->getValueType()).getFixedValue();
      const auto known = allocations_.find(instance.globals[i]);
      if (size == 0 || (known != allocations_.end() && known->second.size >= size)) continue;
      add(Address(instance.globals[i]), size, global->isConstant());
    }
  }
}

const Allocation* Reachable::find(std::uint64_t word) {
  if (!may_be_address(word)) return nullptr;
  auto at = allocations_.upper_bound(word);
  if (at == allocations_.begin()) return nullptr;
  --at;
  return word - at->first <= at->second.size ? &at->second : nullptr;
}

void Reachable::link(const Allocation& from, std::span<const Allocation> to) {
  std::vector<Allocation>& links = links_[from.id.value()];
  for (const Allocation& allocation : to)
    if (allocation.id != from.id) links.push_back(allocation);
}

Reach Reachable::from(std::span<const CallWord> arguments) {
  take_globals();
  Reach reach;
  std::unordered_set<std::uint64_t> seen;
  const auto take = [&](const Allocation& allocation) {
    if (!allocation.is_constant && seen.insert(allocation.id.value()).second)
      reach.allocations.push_back(allocation);
  };
  for (const auto& [word, is_pointer] : arguments) {
    if (const Allocation* const known = find(word)) {
      take(*known);
    } else if (is_pointer && may_be_address(word) &&
               (program_ == nullptr || program_->function_at(Address(word)) == nullptr)) {
      add(Address(word & ~std::uint64_t{7}), 8);
      take(*find(word));
    }
  }
  std::uint64_t bytes = 0;
  for (std::size_t next = 0; next < reach.allocations.size(); ++next) {
    const Allocation allocation = reach.allocations[next];
    if (reach.allocations.size() > kMaxAllocations || (bytes += allocation.size) > kMaxBytes) {
      reach.allocations.clear();
      reach.is_everything = true;
      return reach;
    }
    if (const auto links = links_.find(allocation.id.value()); links != links_.end())
      for (const Allocation& linked : links->second)
        if (const Allocation* const now = at(linked.base); now != nullptr && now->id == linked.id) take(*now);
    const std::uint64_t end = allocation.base.value() + allocation.size;
    for (std::uint64_t at = (allocation.base.value() + 7) & ~std::uint64_t{7}; at + 8 <= end; at += 8)
      if (const std::optional<std::uint64_t> word = image_.read(Address(at), 8))
        if (const Allocation* const known = find(*word)) take(*known);
  }
  std::sort(reach.allocations.begin(), reach.allocations.end(),
            [](const Allocation& a, const Allocation& b) { return a.id < b.id; });
  return reach;
}

}  // namespace deadheat::replay
