// Schedules of a causal model's nodes: made from an order that is wanted here and there, and looked through
// for what is wrong.
//
// A scheduler puts the executed nodes into an order that respects the chains, the hard predecessors and the
// wanted edges, and otherwise stays as close as it can to the order of the trace, because that one is known
// to be right. A walk through the result finds the lock that is taken twice and the read that sees something
// else. Both are steps of the search in order_search.h; the last word on a schedule has witness_checker.h,
// which knows nothing of this file.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "detect/causal_model.h"

namespace deadheat::detect {

struct Wrong {
  enum Kind { kLock, kRead } kind = kLock;
  std::uint32_t first = 0;  // kLock: the section that is open; kRead: the read
  std::uint32_t second =
      0;  // kLock: the section that is entered; kRead: the node whose write it sees, or kNoNode
};

class Scheduler {
 public:
  explicit Scheduler(const CausalModel& model);

  // The first `executed[t]` nodes of each chain, in order. REQUIRES: closed under hard predecessors, and the
  // edges are between executed nodes and have no cycle with the chains and the hard predecessors.
  std::vector<Node> schedule(const std::vector<std::uint32_t>& executed,
                             std::span<const std::pair<Node, Node>> edges);

  // What is wrong with a schedule. Reads that matter are those that an executed node depends on, and those in
  // `needed`. Stops after `limit` things.
  std::vector<Wrong> look_through(const std::vector<Node>& schedule, std::span<const std::uint32_t> needed,
                                  std::size_t limit);

 private:
  const CausalModel& model_;
  // Scratch space, one entry per node, read, version or lock; kept between calls because most calls touch few
  // entries.
  std::vector<std::uint32_t> waiting_for_;
  std::vector<std::uint32_t> stamp_;
  std::uint32_t now_ = 0;
  std::vector<std::vector<Node>> successors_;
  std::vector<Node> used_;
  std::vector<char> matters_, sees_;
  std::vector<Node> last_write_;
  std::vector<char> last_is_faithful_;
  std::vector<std::uint32_t> owner_;
};

}  // namespace deadheat::detect
