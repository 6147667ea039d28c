#include "detect/schedule.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "base/check.h"

namespace deadheat::detect {

Scheduler::Scheduler(const CausalModel& model)
    : model_(model),
      waiting_for_(model.nodes(), 0),
      stamp_(model.nodes(), 0),
      successors_(model.nodes()),
      matters_(model.reads().size(), 0),
      sees_(model.reads().size(), 0),
      last_write_(model.versions().size(), kNoNode),
      last_is_faithful_(model.versions().size(), 1),
      owner_(model.locks(), kNone) {}

std::vector<Node> Scheduler::schedule(const std::vector<std::uint32_t>& executed,
                                      std::span<const std::pair<Node, Node>> edges) {
  ++now_;
  std::size_t count = 0;
  for (std::uint32_t t = 0; t < model_.threads(); ++t) {
    for (std::uint32_t i = 0; i < executed[t]; ++i) {
      Node node = model_.chain(t)[i];
      if (stamp_[node] == now_) continue;  // an act of several threads
      stamp_[node] = now_;
      ++count;
      std::uint32_t waits = 0;
      for (CausalModel::Place place : model_.places(node)) waits += place.position > 0;
      waiting_for_[node] = waits;
    }
  }
  auto add_edge = [&](Node from, Node to) {
    DEADHEAT_CHECK(stamp_[from] == now_ && stamp_[to] == now_);
    if (successors_[from].empty()) used_.push_back(from);
    successors_[from].push_back(to);
    ++waiting_for_[to];
  };
  for (std::uint32_t t = 0; t < model_.threads(); ++t) {
    for (std::uint32_t i = 0; i < executed[t]; ++i) {
      Node node = model_.chain(t)[i];
      if (model_.thread(node) != t) continue;
      for (Node earlier : model_.hard_predecessors(node)) add_edge(earlier, node);
    }
  }
  for (auto [from, to] : edges) add_edge(from, to);

  std::priority_queue<Node, std::vector<Node>, std::greater<>> ready;
  for (std::uint32_t t = 0; t < model_.threads(); ++t) {
    if (executed[t] == 0) continue;
    Node node = model_.chain(t)[0];
    if (waiting_for_[node] == 0 && model_.thread(node) == t) ready.push(node);
  }
  std::vector<Node> result;
  result.reserve(count);
  auto release = [&](Node node) {
    if (--waiting_for_[node] == 0) ready.push(node);
  };
  while (!ready.empty()) {
    Node node = ready.top();
    ready.pop();
    result.push_back(node);
    for (CausalModel::Place place : model_.places(node)) {
      if (place.position + 1 < executed[place.thread])
        release(model_.chain(place.thread)[place.position + 1]);
    }
    for (Node later : successors_[node]) release(later);
  }
  for (Node node : used_) successors_[node].clear();
  used_.clear();
  DEADHEAT_CHECK(result.size() == count);
  return result;
}

std::vector<Wrong> Scheduler::look_through(const std::vector<Node>& schedule,
                                           std::span<const std::uint32_t> needed, std::size_t limit) {
  std::vector<Wrong> wrongs;
  for (Node node : schedule) {
    for (std::uint32_t read : model_.committed_by(node)) matters_[read] = 1;
  }
  for (std::uint32_t read : needed) matters_[read] = 1;
  for (Node node : schedule) {
    for (std::uint32_t section : model_.sections_closed_by(node)) {
      std::uint32_t& owner = owner_[model_.sections()[section].lock];
      if (owner == section) owner = kNone;
    }
    if (std::uint32_t section = model_.section_at(node); section != kNone) {
      std::uint32_t& owner = owner_[model_.sections()[section].lock];
      if (model_.sections()[section].release == node) {
        if (owner == section) owner = kNone;
      } else {
        if (owner != kNone) wrongs.push_back({Wrong::kLock, owner, section});
        owner = section;
      }
    }
    for (std::uint32_t read : model_.reads_at(node)) {
      const ReadRecord& record = model_.reads()[read];
      Node giver = last_write_[record.location];
      sees_[read] = giver == kNoNode ? model_.start_can_give(record)
                                     : model_.can_give(giver, record) && last_is_faithful_[record.location];
      if (matters_[read] && !sees_[read]) wrongs.push_back({Wrong::kRead, read, giver});
    }
    const WriteRecord& write = model_.write(node);
    if (write.location != kNone) {
      last_write_[write.location] = node;
      bool faithful = true;
      const auto& reads = model_.reads_of_writer(node);
      for (std::uint32_t i = write.unsettled_begin; i < write.unsettled_end; ++i)
        faithful = faithful && sees_[reads[i]];
      last_is_faithful_[write.location] = faithful;
    }
    if (wrongs.size() >= limit) break;
  }
  for (Node node : schedule) {
    for (std::uint32_t read : model_.committed_by(node)) matters_[read] = 0;
    if (std::uint32_t section = model_.section_at(node); section != kNone) {
      owner_[model_.sections()[section].lock] = kNone;
    }
    if (std::uint32_t location = model_.write(node).location; location != kNone)
      last_write_[location] = kNoNode;
  }
  for (std::uint32_t read : needed) matters_[read] = 0;
  return wrongs;
}

}  // namespace deadheat::detect
